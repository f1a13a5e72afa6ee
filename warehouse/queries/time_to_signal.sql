-- How long from the creation of a build until the last job of it ended, by day? Builds that ended by themselves
-- count; those that run, wait or were cancelled have given no signal. Quantiles of several days are not means of
-- daily ones: ask for them with step_days.
-- @branch: the branch = main
-- @days: how many days back = 30
-- @step_days: days that are taken together, counted back from today = 1
WITH ended AS
(
    SELECT build_id, argMax(state, version) AS last_state, any(created_at) AS created
    FROM builds
    WHERE branch = {branch: String} AND toDate(created_at) > today() - {days: UInt16}
    GROUP BY build_id
    HAVING last_state IN ('passed', 'failed')
)
SELECT
    today() - intDiv(today() - toDate(created), {step_days: UInt16}) * {step_days: UInt16} - ({step_days: UInt16} - 1) AS day,
    round(quantileExactInclusive(0.5)(dateDiff('millisecond', created, ended_at)) / 60000, 2) AS p50_min,
    round(quantileExactInclusive(0.9)(dateDiff('millisecond', created, ended_at)) / 60000, 2) AS p90_min,
    count() AS builds
FROM
(
    SELECT build_id, max(finished_at) AS ended_at
    FROM job_attempts
    WHERE branch = {branch: String} AND toDate(created_at) >= today() - {days: UInt16}
        AND build_id IN (SELECT build_id FROM ended)
    GROUP BY build_id
) AS jobs
INNER JOIN ended USING (build_id)
WHERE ended_at IS NOT NULL
GROUP BY day
ORDER BY day
