-- How is each accelerator of each host now? Its newest sample, and what happened in the last day.
-- idle: it was used less than `idle_pct` on average over the hour before its newest sample; NULL where no sample says.
-- @idle_pct: utilisation below which one counts as idle = 5
WITH (SELECT max(at) FROM gpu_samples) AS newest
SELECT
    host, gpu, argMax(name, s.at) AS name, max(s.at) AS sampled_at,
    argMax(tuple(s.utilization_pct), s.at).1 AS utilization_pct, argMax(tuple(s.memory_used_mib), s.at).1 AS memory_used_mib,
    argMax(tuple(s.power_w), s.at).1 AS power_w, argMax(tuple(s.temperature_c), s.at).1 AS temperature_c,
    argMax(tuple(s.sm_clock_mhz), s.at).1 AS sm_clock_mhz, argMax(tuple(s.throttle_bits), s.at).1 AS throttle_bits,
    arraySort(groupUniqArrayIf(assumeNotNull(s.xid), s.xid > 0)) AS xids, countIf(s.xid > 0) AS xid_errors,
    countIf(s.throttle_bits > 0) AS throttled_samples, count() AS samples,
    avgIf(s.utilization_pct, s.at > newest - INTERVAL 1 HOUR) AS hour_utilization_pct,
    hour_utilization_pct < {idle_pct: Float64} AS idle,
    sum(ifNull(idle, 0)) OVER () AS idle_gpus, count() OVER () AS gpus
FROM gpu_samples AS s
WHERE s.at > newest - INTERVAL 1 DAY
GROUP BY host, gpu
ORDER BY xid_errors DESC, throttle_bits > 0 DESC, host, gpu
