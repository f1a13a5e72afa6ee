-- How did every attempt on the hosts of a queue end? failure_class is NULL where it passed; unknown where nobody said.
-- Cancelled attempts and soft failures say nothing of a host and are left out.
-- @queue: the queue
-- @days: how many days back = 3
SELECT host, job_key, sha, if(state = 'passed', NULL, multiIf(f.failure_class != '', f.failure_class, state = 'timed_out', 'timeout', 'unknown')) AS failure_class
FROM
(
    SELECT job_id, host, job_key, toString(sha) AS sha, state, soft_failed
    FROM job_attempts
    WHERE queue = {queue: String} AND host != '' AND created_at > now() - toIntervalDay({days: UInt16})
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
        WHERE queue = {queue: String} AND created_at > now() - toIntervalDay({days: UInt16}) AND state != 'passed'
    )
    GROUP BY job_id
) AS f ON a.job_id = f.job_id
WHERE state IN ('passed', 'failed', 'timed_out') AND NOT soft_failed
ORDER BY host, job_key, sha
