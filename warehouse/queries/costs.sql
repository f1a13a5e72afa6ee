-- What did it cost, by group and vendor? Hours on queues without a price are told apart.
-- @days: how many days back = 30
SELECT
    group_key, p.vendor AS vendor, sum(attempts) AS attempts, round(sum(run_s) / 3600, 1) AS hours,
    round(sum(if(p.usd_per_hour IS NULL, 0, run_s / 3600 * p.usd_per_hour)), 2) AS cost_usd,
    round(sumIf(run_s, p.usd_per_hour IS NULL) / 3600, 1) AS hours_without_price
FROM
(
    SELECT group_key, queue, sum(attempts) AS attempts, sum(run_s) AS run_s
    FROM job_daily
    WHERE day > (SELECT max(day) FROM job_daily) - {days: UInt16}
        AND (day, generation) IN (SELECT day, max(generation) FROM rollup_days WHERE target = 'job_daily' GROUP BY day)
    GROUP BY group_key, queue
) AS j
LEFT JOIN
(
    SELECT queue, argMax(vendor, (valid_from, version)) AS vendor,
        argMax(tuple(usd_per_hour), (valid_from, version)).1 AS usd_per_hour
    FROM queue_prices GROUP BY queue
) AS p USING (queue)
GROUP BY group_key, vendor
ORDER BY cost_usd DESC, group_key, vendor
