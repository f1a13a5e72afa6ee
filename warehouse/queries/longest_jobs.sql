-- Which jobs take longest, and is that getting worse? Quantiles over the last days and over as many before.
-- @days: how many days make one window = 14
-- @limit: how many jobs = 50
WITH (SELECT max(day) FROM job_daily) AS newest
SELECT
    job_key, any(group_key) AS group_key, sumIf(attempts, late) AS attempts,
    round(quantilesTDigestMergeIf(0.5, 0.9, 0.99)(run_quantiles, late)[1] / 60, 2) AS p50_min,
    round(quantilesTDigestMergeIf(0.5, 0.9, 0.99)(run_quantiles, late)[2] / 60, 2) AS p90_min,
    nullIf(countIf(NOT late), 0) IS NOT NULL AS has_before,
    if(has_before, round(quantilesTDigestMergeIf(0.5, 0.9, 0.99)(run_quantiles, NOT late)[1] / 60, 2), NULL) AS p50_min_before,
    round(p50_min / p50_min_before - 1, 4) AS change,
    round(quantilesTDigestMergeIf(0.5, 0.9, 0.99)(wait_quantiles, late)[2] / 60, 2) AS p90_wait_min
FROM
(
    SELECT *, day > newest - {days: UInt16} AS late
    FROM job_daily
    WHERE day > newest - 2 * {days: UInt16}
        AND (day, generation) IN (SELECT day, max(generation) FROM rollup_days WHERE target = 'job_daily' GROUP BY day)
)
GROUP BY job_key
HAVING attempts > 0
ORDER BY p50_min DESC, job_key
LIMIT {limit: UInt32}
