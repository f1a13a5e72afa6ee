-- How did jobs fare at each of a branch's newest commits, by queue? Attempts of one commit are folded as in main_grid.
-- @job_keys: the jobs, with commas
-- @branch: the branch = main
-- @upto: position at which to end; 0 is the newest = 0
-- @commits: how many commits = 60
WITH recent AS
(
    SELECT position, any(sha) AS sha, any(committed_at) AS committed_at
    FROM commits
    WHERE branch = {branch: String} AND ({upto: UInt32} = 0 OR position <= {upto: UInt32})
    GROUP BY position
    ORDER BY position DESC
    LIMIT {commits: UInt32}
),
attempts AS
(
    SELECT
        any(a.sha) AS sha, any(a.job_key) AS job_key, any(a.shard) AS shard, any(a.queue) AS queue, any(a.group_key) AS group_key, job_id,
        argMax(state, version) AS state, argMax(soft_failed, version) AS soft
    FROM job_attempts AS a
    WHERE branch = {branch: String} AND a.job_key IN (SELECT arrayJoin(splitByChar(',', {job_keys: String})))
        AND created_at >= (SELECT min(committed_at) - INTERVAL 1 DAY FROM recent)
        AND a.sha IN (SELECT sha FROM recent)
    GROUP BY job_id
),
folded AS
(
    SELECT
        sha, job_key, queue, any(group_key) AS group_key,
        multiIf(
            countIf(state = 'passed') > 0 AND countIf(state IN ('failed', 'timed_out') AND NOT soft) > 0, 'flaky',
            countIf(state = 'passed' OR soft) > 0, 'passed',
            countIf(state IN ('failed', 'timed_out', 'expired')) > 0,
                if(minIf(startsWith(ifNull(f.failure_class, ''), 'infra_'), state IN ('failed', 'timed_out', 'expired')),
                    'infra', 'failed'),
            countIf(state IN ('canceled', 'skipped')) = count(), 'not run',
            countIf(state IN ('canceled', 'skipped', 'blocked', 'blocked_failed', 'waiting_failed', 'broken')) = count(),
                'blocked',
            'running') AS verdict
    FROM attempts
    LEFT JOIN
    (
        SELECT job_id, argMax(failure_class, version) AS failure_class
        FROM job_failures
        WHERE job_id IN (SELECT job_id FROM attempts WHERE state != 'passed')
        GROUP BY job_id
    ) AS f USING (job_id)
    GROUP BY sha, job_key, shard, queue
)
SELECT job_key, any(group_key) AS group_key, queue, r.position AS position, r.sha AS sha, verdict AS state, count() AS jobs
FROM folded
INNER JOIN recent AS r USING (sha)
GROUP BY job_key, queue, position, sha, state
ORDER BY job_key, queue, position DESC, state
