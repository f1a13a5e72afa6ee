-- How many minutes were lost to attempts that failed, by cause?
-- @days: how many days back = 30
-- @branch: the branch, or empty for all =
WITH failed AS
(
    SELECT
        job_id, any(a.queue) AS queue,
        argMax(state, version) AS state, argMax(soft_failed, version) AS soft,
        argMax(signal_reason, version) AS signal_reason,
        argMax(dateDiff('second', started_at, finished_at), version) / 60 AS took_min
    FROM job_attempts AS a
    WHERE created_at > now() - toIntervalDay({days: UInt16}) AND a.state NOT IN ('passed', 'skipped')
        AND finished_at IS NOT NULL AND ({branch: String} = '' OR branch = {branch: String})
    GROUP BY job_id
)
SELECT
    multiIf(f.failure_class != '', f.failure_class, state = 'timed_out', 'timeout', state = 'canceled', 'cancelled',
        signal_reason != '', 'infra_agent', 'unknown') AS cause,
    count() AS attempts, round(sum(took_min), 1) AS minutes,
    round(sum(took_min / 60 * p.usd_per_hour), 2) AS cost_usd,
    countIf(p.usd_per_hour IS NULL) AS attempts_without_price
FROM failed
LEFT JOIN
(
    SELECT job_id, argMax(failure_class, version) AS failure_class
    FROM job_failures
    WHERE job_id IN (SELECT job_id FROM failed)
    GROUP BY job_id
) AS f USING (job_id)
LEFT JOIN (SELECT queue, argMax(usd_per_hour, (valid_from, version)) AS usd_per_hour FROM queue_prices GROUP BY queue) AS p
    USING (queue)
GROUP BY cause
ORDER BY minutes DESC, cause
