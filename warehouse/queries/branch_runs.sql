-- What did every attempt at a branch's newest commits end in, oldest first? Attempts that have not ended are left out.
-- @branch: the branch = main
-- @commits: how many of its newest commits count = 200
WITH recent AS
(
    SELECT position, any(sha) AS sha, any(committed_at) AS committed_at
    FROM commits
    WHERE branch = {branch: String}
    GROUP BY position
    ORDER BY position DESC
    LIMIT {commits: UInt32}
),
attempts AS
(
    SELECT
        job_id, any(a.job_key) AS job_key, any(a.group_key) AS group_key, any(a.shard) AS shard, any(a.sha) AS sha,
        any(a.queue) AS queue, argMax(a.host, version) AS host, argMax(a.state, version) AS state,
        argMax(a.soft_failed, version) AS soft_failed, argMax(a.url, version) AS url, any(a.build_number) AS build_number,
        argMax(coalesce(a.finished_at, a.started_at, a.created_at), version) AS at
    FROM job_attempts AS a
    WHERE branch = {branch: String}
        AND created_at >= (SELECT min(committed_at) - INTERVAL 1 DAY FROM recent)
        AND a.sha IN (SELECT sha FROM recent)
    GROUP BY job_id
    HAVING state IN ('passed', 'failed', 'timed_out', 'expired')
)
SELECT
    a.job_id AS job_id, a.job_key AS job_key, a.group_key AS group_key, a.shard AS shard, a.sha AS sha, a.queue AS queue,
    a.host AS host, a.state AS state, a.soft_failed AS soft_failed, a.url AS url, a.build_number AS build_number, a.at AS at,
    ifNull(f.failure_class, '') AS failure_class, ifNull(f.signature, '') AS signature, ifNull(f.line, '') AS line,
    ifNull(f.wrong_exit_code, 0) AS wrong_exit_code
FROM attempts AS a
LEFT JOIN
(
    SELECT job_id, argMax(failure_class, version) AS failure_class, argMax(signature, version) AS signature,
        argMax(line, version) AS line, argMax(wrong_exit_code, version) AS wrong_exit_code
    FROM job_failures
    WHERE job_id IN (SELECT job_id FROM attempts)
    GROUP BY job_id
) AS f ON a.job_id = f.job_id
ORDER BY at, job_id
SETTINGS join_use_nulls = 1
