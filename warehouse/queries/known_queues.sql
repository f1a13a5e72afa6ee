-- On which queues did jobs run or wait in the last days?
-- @ago_s: as it was so many seconds ago = 0
-- @days: how many days back = 7
SELECT queue, count() AS attempts
FROM job_attempts
WHERE created_at > now64(3) - toIntervalSecond({ago_s: UInt32}) - toIntervalDay({days: UInt16})
    AND created_at <= now64(3) - toIntervalSecond({ago_s: UInt32}) AND queue != ''
GROUP BY queue
ORDER BY queue
