-- How fast does a queue work at present? Jobs that came, began and ended in an hour, over the last hours.
-- @queue: the queue
-- @hours: how many hours back = 3
WITH (SELECT max(at) FROM queue_samples WHERE queue = {queue: String}) AS newest
SELECT
    countIf(runnable_at > newest - toIntervalHour({hours: UInt8}) AND runnable_at <= newest) / {hours: UInt8} AS came_per_hour,
    countIf(started_at > newest - toIntervalHour({hours: UInt8}) AND started_at <= newest) / {hours: UInt8} AS began_per_hour,
    countIf(finished_at > newest - toIntervalHour({hours: UInt8}) AND finished_at <= newest) / {hours: UInt8} AS ended_per_hour
FROM
(
    SELECT job_id, runnable_at, started_at, finished_at
    FROM job_attempts
    WHERE queue = {queue: String} AND created_at > newest - INTERVAL 1 DAY
    ORDER BY version DESC
    LIMIT 1 BY job_id
)
HAVING newest > toDateTime64(0, 3)
