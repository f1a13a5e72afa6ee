-- How did every attempt of the jobs that failed lately end, in merge order, by job and queue; what does a retry cost?
-- Attempts that the machine, the network or the hub lost are left out: they say nothing of the job.
-- attempt_min: how long an attempt runs. blocked_min: from the end of an attempt that failed to that of its retry, in sum.
-- @branch: the branch = main
-- @days: how many days back = 14
-- @runs: how many attempts of each history at most, the newest = 200
-- @job_keys: keys of jobs, one a line, whether they failed or not; empty for those that failed =
WITH attempts AS
(
    SELECT job_id, job_key, queue, shard, toString(sha) AS sha, state, soft_failed, retried_from, created_at, started_at, finished_at
    FROM job_attempts
    WHERE branch = {branch: String} AND created_at > now() - toIntervalDay({days: UInt16})
        AND ({job_keys: String} = '' OR job_key IN splitByChar('\n', {job_keys: String}))
    ORDER BY version DESC
    LIMIT 1 BY job_id
),
lost AS
(
    SELECT job_id
    FROM job_failures
    GROUP BY job_id
    HAVING argMax(failure_class, version) IN
        ('infra_machine', 'infra_network', 'infra_capacity', 'infra_agent', 'upstream_hub', 'cancelled')
)
SELECT
    job_key, queue, runs, failures, last_at, attempt_min, blocked_min,
    history.1 AS positions, history.2 AS times, history.4 AS failed, history.5 AS shas
FROM
(
    SELECT
        job_key, queue, count() AS runs, countIf(bad) AS failures, max(at) AS last_at,
        avg(took) AS attempt_min, sum(blocked) AS blocked_min,
        arraySlice(arraySort(groupArray((position, at, shard, bad, sha))), -toInt32({runs: UInt32})) AS history
    FROM
    (
        SELECT
            a.job_key AS job_key, a.queue AS queue, a.sha AS sha, toUInt16(ifNull(a.shard, 0)) AS shard,
            a.state != 'passed' AND NOT a.soft_failed AS bad,
            ifNull(a.started_at, a.created_at) AS at, toUInt32(ifNull(c.position, 0)) AS position,
            dateDiff('second', a.started_at, a.finished_at) / 60 AS took,
            dateDiff('second', a.finished_at, again.finished_at) / 60 AS blocked
        FROM attempts AS a
        LEFT JOIN
        (
            SELECT assumeNotNull(retried_from) AS job_id, min(finished_at) AS finished_at
            FROM attempts
            WHERE retried_from IS NOT NULL
            GROUP BY job_id
        ) AS again ON a.job_id = again.job_id
        LEFT JOIN
        (
            SELECT sha, any(position) AS position FROM commits WHERE branch = {branch: String} GROUP BY sha
        ) AS c ON a.sha = c.sha
        WHERE a.state IN ('passed', 'failed', 'timed_out') AND a.job_id NOT IN (lost)
    )
    GROUP BY job_key, queue
    HAVING failures > 0 OR {job_keys: String} != ''
)
ORDER BY failures DESC, job_key, queue
SETTINGS join_use_nulls = 1
