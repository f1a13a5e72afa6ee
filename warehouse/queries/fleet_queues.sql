-- Which queues are there, on what machines, at what price, and how busy were they last?
SELECT
    coalesce(p.queue, s.queue) AS queue, p.vendor AS vendor, p.accelerator AS accelerator, p.usd_per_hour AS usd_per_hour,
    s.sampled_at AS sampled_at, s.agents_total AS agents_total, s.agents_busy AS agents_busy, s.agents_idle AS agents_idle,
    s.jobs_waiting AS jobs_waiting
FROM
(
    SELECT queue, argMax(vendor, (valid_from, version)) AS vendor, argMax(accelerator, (valid_from, version)) AS accelerator,
        argMax(tuple(usd_per_hour), (valid_from, version)).1 AS usd_per_hour
    FROM queue_prices
    WHERE valid_from <= now()
    GROUP BY queue
) AS p
FULL JOIN
(
    SELECT queue, max(q.at) AS sampled_at, argMax(tuple(q.agents_total), q.at).1 AS agents_total,
        argMax(tuple(q.agents_busy), q.at).1 AS agents_busy, argMax(tuple(q.agents_idle), q.at).1 AS agents_idle,
        argMax(tuple(q.jobs_waiting), q.at).1 AS jobs_waiting
    FROM queue_samples AS q
    WHERE q.at > (SELECT max(at) FROM queue_samples) - INTERVAL 7 DAY
    GROUP BY queue
) AS s ON p.queue = s.queue
ORDER BY vendor, accelerator, queue
SETTINGS join_use_nulls = 1
