-- How old is the newest batch of each source, and how much came in the last day?
SELECT
    source, max(shipped_at) AS newest, dateDiff('second', newest, now()) AS age_s,
    sumIf(rows, shipped_at > now() - INTERVAL 1 DAY) AS rows_last_day, uniqExact(batch) AS batches
FROM batches
GROUP BY source
ORDER BY source
