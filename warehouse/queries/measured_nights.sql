-- On which nights was any load measured? A night is the UTC day on which its run began; sides of comparisons are no part
-- of it.
-- @night: the last night
-- @days: how many nights back = 400
SELECT DISTINCT night
FROM
(
    SELECT toDate(min(started_at)) AS night
    FROM repetitions
    WHERE kind = 'load' AND side = 'single' AND started_at >= toDateTime({night: Date} - {days: UInt16}, 'UTC')
        AND started_at < toDateTime({night: Date} + 2, 'UTC')
    GROUP BY run_id
)
WHERE night <= {night: Date}
ORDER BY night
