-- How full is a queue usually in the hours to come? The same hours of the week, over the last weeks.
-- Begins with the hour of the queue's newest sample; hours of which no week has a sample are left out.
-- @queue: the queue
-- @weeks: how many weeks back = 4
-- @hours: how many hours to look ahead = 24
WITH (SELECT toStartOfHour(max(at)) FROM queue_samples WHERE queue = {queue: String}) AS present
SELECT
    present + toIntervalHour((168 - dateDiff('hour', at, present) % 168) % 168 AS ahead) AS hour,
    quantile(0.5)(jobs_waiting) AS usual_waiting, quantile(0.9)(jobs_waiting) AS high_waiting,
    quantile(0.5)(agents_busy) AS usual_busy, quantile(0.9)(agents_busy) AS high_busy,
    uniqExact(intDiv(dateDiff('hour', at, present) + ahead, 168)) AS weeks, count() AS samples
FROM queue_samples
WHERE queue = {queue: String} AND at >= present - toIntervalWeek({weeks: UInt8}) AND at < present AND ahead <= {hours: UInt16}
GROUP BY hour
ORDER BY hour
