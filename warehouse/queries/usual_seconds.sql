-- How long do some jobs usually take when they pass, in seconds? Of their passing attempts of the last days.
-- @job_keys: keys of jobs, a line each
-- @ago_s: as it was so many seconds ago = 0
-- @days: how many days back = 14
SELECT job_key, quantile(0.5)(dateDiff('millisecond', started_at, finished_at) / 1000) AS p50_s, count() AS passes
FROM
(
    SELECT job_key, started_at, finished_at
    FROM job_attempts
    WHERE job_key IN splitByChar('\n', {job_keys: String}) AND state = 'passed'
        AND created_at > now64(3) - toIntervalSecond({ago_s: UInt32}) - toIntervalDay({days: UInt16})
        AND created_at <= now64(3) - toIntervalSecond({ago_s: UInt32})
        AND started_at IS NOT NULL AND finished_at IS NOT NULL
    LIMIT 1 BY job_id
)
GROUP BY job_key
ORDER BY job_key
