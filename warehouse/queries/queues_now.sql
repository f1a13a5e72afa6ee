-- Which queues are congested now? The newest sample of each, and how it compares with the last week.
-- congested: jobs wait although no agent is idle, and the oldest waits longer than `wait_s`.
-- @wait_s: how long the oldest may wait = 900
WITH (SELECT max(at) FROM queue_samples) AS newest
SELECT
    queue, max(s.at) AS sampled_at, dateDiff('second', sampled_at, now()) AS age_s,
    argMax(agents_total, s.at) AS agents_total, argMax(agents_busy, s.at) AS agents_busy,
    argMax(agents_idle, s.at) AS agents_idle, argMax(jobs_waiting, s.at) AS jobs_waiting,
    argMax(jobs_running, s.at) AS jobs_running, argMax(tuple(oldest_wait_s), s.at).1 AS oldest_wait_s,
    toBool(ifNull(jobs_waiting > 0 AND ifNull(agents_idle, 0) = 0 AND oldest_wait_s > {wait_s: Float64}, false)) AS congested,
    quantile(0.5)(s.jobs_waiting) AS usual_waiting, quantile(0.9)(s.jobs_waiting) AS high_waiting
FROM queue_samples AS s
WHERE s.at > newest - INTERVAL 7 DAY
GROUP BY queue
ORDER BY congested DESC, oldest_wait_s DESC NULLS LAST, queue
