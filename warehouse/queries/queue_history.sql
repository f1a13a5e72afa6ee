-- How full was a queue, in steps of some minutes?
-- @queue: the queue
-- @days: how many days back = 7
-- @step_min: minutes a step = 30
SELECT
    toStartOfInterval(at, toIntervalMinute({step_min: UInt32})) AS step,
    max(agents_total) AS agents_total, avg(agents_busy) AS agents_busy, max(jobs_waiting) AS most_waiting,
    avg(jobs_waiting) AS mean_waiting, max(oldest_wait_s) AS oldest_wait_s, count() AS samples
FROM queue_samples
WHERE queue = {queue: String} AND at > (SELECT max(at) FROM queue_samples) - toIntervalDay({days: UInt16})
GROUP BY step
ORDER BY step
