-- On which nights was anything measured, newest first? A night is the UTC day on which its runs began; sides of comparisons
-- are no part of it.
-- @days: how many days back = 400
SELECT
    night, uniqExact(run_id) AS runs, uniqExact(series_id) AS series, count() AS repetitions,
    countIf(status != 'valid') AS refused
FROM
(
    SELECT run_id, series_id, status, toDate(min(started_at) OVER (PARTITION BY run_id)) AS night
    FROM
    (
        SELECT run_id, series_id, status, started_at FROM repetitions
        WHERE side = 'single' AND started_at > now() - toIntervalDay({days: UInt16})
        LIMIT 1 BY repetition_id
    )
)
GROUP BY night
ORDER BY night DESC
