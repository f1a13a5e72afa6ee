-- How long did one job run and wait, day by day?
-- @job_key: the job
-- @days: how many days back = 90
SELECT
    day, sum(attempts) AS attempts, sum(passed) AS passed, sum(failed) AS failed,
    quantilesTDigestMerge(0.5, 0.9, 0.99)(run_quantiles) AS run_s_p50_p90_p99,
    quantilesTDigestMerge(0.5, 0.9, 0.99)(wait_quantiles) AS wait_s_p50_p90_p99
FROM job_daily
WHERE job_key = {job_key: String} AND day > (SELECT max(day) FROM job_daily) - {days: UInt16}
    AND (day, generation) IN (SELECT day, max(generation) FROM rollup_days WHERE target = 'job_daily' GROUP BY day)
GROUP BY day
ORDER BY day
