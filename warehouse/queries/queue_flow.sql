-- How many jobs came to a queue, began and ended, in steps of some minutes, and how long did those wait that began?
-- Whole steps only: the present one is not over yet.
-- @queue: the queue
-- @days: how many days back = 7
-- @step_min: minutes a step = 60
WITH (SELECT max(created_at) FROM job_attempts) AS newest
SELECT
    toStartOfInterval(event.2, toIntervalMinute({step_min: UInt32})) AS step,
    countIf(event.1 = 'came') AS came, countIf(event.1 = 'began') AS began, countIf(event.1 = 'ended') AS ended,
    if(began = 0, NULL, quantileIf(0.5)(wait_s, event.1 = 'began' AND wait_s IS NOT NULL)) AS p50_wait_s,
    if(began = 0, NULL, quantileIf(0.9)(wait_s, event.1 = 'began' AND wait_s IS NOT NULL)) AS p90_wait_s
FROM
(
    SELECT
        dateDiff('second', runnable_at, started_at) AS wait_s,
        arrayJoin([('came', runnable_at), ('began', started_at), ('ended', finished_at)]) AS event
    FROM
    (
        SELECT job_id, runnable_at, started_at, finished_at
        FROM job_attempts
        WHERE queue = {queue: String} AND created_at > newest - toIntervalDay({days: UInt16} + 1)
        ORDER BY version DESC
        LIMIT 1 BY job_id
    )
)
WHERE event.2 IS NOT NULL AND event.2 >= toStartOfInterval(newest - toIntervalDay({days: UInt16}), toIntervalMinute({step_min: UInt32}))
GROUP BY step
HAVING step <= newest - toIntervalMinute({step_min: UInt32})
ORDER BY step
