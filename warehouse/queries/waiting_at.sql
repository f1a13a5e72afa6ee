-- How many jobs waited on each queue at some instants, and how long had they waited? Now and before, and in earlier weeks.
-- ago_s: how long before the present; an instant at which nobody waited has no row. A job that waits for longer than
-- two days does not count: nobody is going to run it.
-- @ago_s: as it was so many seconds ago = 0
-- @steps: how many instants = 25
-- @step_s: seconds between instants = 300
-- @weeks: how many weeks back, for what is usual = 4
WITH
    now64(3) - toIntervalSecond({ago_s: UInt32}) AS moment,
    arrayConcat(
        arrayMap(n -> n * {step_s: UInt32}, range({steps: UInt32})),
        arrayMap(n -> n * 604800, range(1, {weeks: UInt32} + 1))
    ) AS instants
SELECT
    queue, instant AS ago_s, count() AS waiting,
    quantile(0.9)(waited_s) AS p90_wait_s, max(waited_s) AS oldest_wait_s
FROM
(
    SELECT
        queue, runnable_at, coalesce(started_at, finished_at, moment + INTERVAL 1 SECOND) AS ended,
        arrayJoin(arrayFilter(s -> runnable_at <= moment - toIntervalSecond(s) AND ended > moment - toIntervalSecond(s), instants)) AS instant,
        dateDiff('second', runnable_at, moment - toIntervalSecond(instant)) AS waited_s
    FROM
    (
        SELECT queue, state, runnable_at, started_at, finished_at
        FROM job_attempts
        WHERE (created_at > moment - INTERVAL 2 DAY AND created_at <= moment)
            OR arrayExists(
                n -> created_at > moment - toIntervalWeek(n) - INTERVAL 2 DAY AND created_at <= moment - toIntervalWeek(n),
                range(1, {weeks: UInt32} + 1)
            )
        ORDER BY version DESC
        LIMIT 1 BY job_id
    )
    WHERE runnable_at IS NOT NULL
        AND NOT (started_at IS NULL AND finished_at IS NULL AND state NOT IN ('scheduled', 'assigned', 'accepted', 'limited', 'limiting'))
)
WHERE waited_s <= 172800
GROUP BY queue, instant
ORDER BY queue, instant
