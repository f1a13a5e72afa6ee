-- Which hosts of a queue fail more than its other hosts? With the newest alert about each that is not closed and has not expired.
-- infra_failed: attempts that failed for reasons of the machines. Rates are NULL where nothing was attempted.
-- @queue: the queue
-- @days: how many days back = 7
WITH jobs AS
(
    SELECT job_id, host, state, soft_failed, signal_reason, created_at, started_at, finished_at
    FROM job_attempts
    WHERE queue = {queue: String} AND host != ''
        AND created_at > (SELECT max(created_at) FROM job_attempts) - toIntervalDay({days: UInt16})
    ORDER BY version DESC
    LIMIT 1 BY job_id
),
failures AS
(
    SELECT job_id, argMax(failure_class, version) AS failure_class
    FROM job_failures
    WHERE job_id IN (SELECT job_id FROM jobs WHERE state NOT IN ('passed', 'skipped'))
    GROUP BY job_id
),
hosts AS
(
    SELECT
        host, count() AS attempts, countIf(state IN ('failed', 'timed_out', 'broken', 'expired') AND NOT soft_failed) AS failed,
        countIf(state != 'passed' AND (startsWith(ifNull(failure_class, ''), 'infra_') OR ifNull(failure_class, '') = '' AND signal_reason != '')) AS infra_failed,
        max(coalesce(finished_at, started_at, created_at)) AS last_seen
    FROM jobs
    LEFT JOIN failures USING (job_id)
    GROUP BY host
)
SELECT
    h.host AS host, attempts, failed, infra_failed, failed / attempts AS failed_share, infra_failed / attempts AS infra_share,
    sum(attempts) OVER () - attempts AS others,
    if(others = 0, NULL, (sum(failed) OVER () - failed) / others) AS others_failed_share,
    if(others = 0, NULL, (sum(infra_failed) OVER () - infra_failed) / others) AS others_infra_share,
    last_seen, a.outcome AS alert, a.reason AS alert_reason, a.at AS alert_at
FROM hosts AS h
LEFT JOIN
(
    SELECT subject, argMax(outcome, d.at) AS outcome, argMax(reason, d.at) AS reason, max(d.at) AS at
    FROM decisions AS d
    WHERE kind = 'alert' AND startsWith(subject, 'host/')
    GROUP BY subject
    HAVING ifNull(argMax(tuple(expires_at), d.at).1 > now(), true) AND outcome != 'closed'
) AS a ON a.subject = concat('host/', h.host)
ORDER BY alert != '' DESC, infra_share DESC, failed_share DESC, host
SETTINGS join_use_nulls = 1
