-- Which jobs are there, and to which group does each belong?
-- @days: how many days back = 30
SELECT job_key, argMax(group_key, day) AS group_key, max(day) AS last_day
FROM job_daily
WHERE day > (SELECT max(day) FROM job_daily) - {days: UInt16}
GROUP BY job_key
ORDER BY job_key
