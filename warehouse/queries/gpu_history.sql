-- How busy, hot and slow were the accelerators of a host, in steps of some minutes?
-- @host: the host
-- @hours: how many hours back = 24
-- @step_min: minutes a step = 5
SELECT
    toStartOfInterval(at, toIntervalMinute({step_min: UInt32})) AS step, gpu, any(name) AS name,
    avg(utilization_pct) AS utilization_pct, max(memory_used_mib) AS most_memory_mib, avg(power_w) AS power_w,
    min(sm_clock_mhz) AS least_sm_clock_mhz, max(temperature_c) AS most_temperature_c,
    countIf(throttle_bits > 0) AS throttled_samples, groupUniqArrayIf(xid, xid > 0) AS xids, count() AS samples
FROM gpu_samples
WHERE host = {host: String} AND at > (SELECT max(at) FROM gpu_samples WHERE host = {host: String}) - toIntervalHour({hours: UInt16})
GROUP BY step, gpu
ORDER BY step, gpu
