-- How did every attempt on the hosts of all queues end? As host_attempts, of the whole fleet, with when it ended.
-- @ago_s: as it was so many seconds ago = 0
-- @hours: how many hours back = 24
WITH now64(3) - toIntervalSecond({ago_s: UInt32}) AS moment
SELECT
    queue, host, job_key, sha, ended_at,
    if(state = 'passed', NULL, multiIf(f.failure_class != '', f.failure_class, state = 'timed_out', 'timeout', 'unknown')) AS failure_class
FROM
(
    SELECT job_id, queue, host, job_key, toString(sha) AS sha, state, soft_failed, ifNull(finished_at, created_at) AS ended_at
    FROM job_attempts
    WHERE host != '' AND created_at > moment - toIntervalHour({hours: UInt16}) AND created_at <= moment
    ORDER BY version DESC
    LIMIT 1 BY job_id
) AS a
LEFT JOIN
(
    SELECT job_id, argMax(failure_class, version) AS failure_class
    FROM job_failures
    WHERE job_id IN
    (
        SELECT job_id FROM job_attempts
        WHERE created_at > moment - toIntervalHour({hours: UInt16}) AND state NOT IN ('passed', 'skipped')
    )
    GROUP BY job_id
) AS f ON a.job_id = f.job_id
WHERE state IN ('passed', 'failed', 'timed_out') AND NOT soft_failed AND ended_at <= moment
ORDER BY queue, host, job_key, sha
