-- Which jobs of a queue wait longest? Those that could run first, then those that wait for other jobs.
-- @queue: the queue
-- @days: how many days back = 3
-- @limit: how many jobs = 50
SELECT
    job_key, job_name, shard, attempt, state, branch, pipeline, build_number, build_id, runnable_at, created_at, url,
    count() OVER () AS waiting
FROM
(
    SELECT *
    FROM job_attempts
    WHERE queue = {queue: String} AND created_at > (SELECT max(created_at) FROM job_attempts) - toIntervalDay({days: UInt16})
    ORDER BY version DESC
    LIMIT 1 BY job_id
)
WHERE state IN ('scheduled', 'assigned', 'limited', 'limiting', 'waiting', 'pending') AND started_at IS NULL
ORDER BY runnable_at ASC NULLS LAST, created_at, job_key
LIMIT {limit: UInt32}
