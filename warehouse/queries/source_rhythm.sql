-- Is a source late? How old its newest batch is, and how long it was silent between batches in the last weeks.
-- late: silent now for half as long again as it ever was between two batches; NULL where batches came
-- on fewer than three days, so that no rhythm is known.
-- @days: how many days back the rhythm is taken from = 14
SELECT
    source, newest, dateDiff('second', newest, now()) AS age_s, rows_last_day, batches, days_seen,
    if(length(gaps) = 0, NULL, arrayReduce('quantile(0.5)', gaps)) AS usual_gap_s,
    if(length(gaps) = 0, NULL, arrayMax(gaps)) AS longest_gap_s,
    if(days_seen < 3, NULL, toBool(age_s > greatest(600, 1.5 * longest_gap_s))) AS late
FROM
(
    SELECT
        source, max(arrived) AS newest, sumIf(told, arrived > now() - INTERVAL 1 DAY) AS rows_last_day, count() AS batches,
        arraySort(groupArrayIf(toUnixTimestamp64Milli(arrived) / 1000, arrived > now() - toIntervalDay({days: UInt16}))) AS times,
        arrayPopFront(arrayDifference(times)) AS gaps,
        uniqExactIf(toDate(arrived), arrived > now() - toIntervalDay({days: UInt16})) AS days_seen
    FROM
    (
        SELECT source, batch, min(shipped_at) AS arrived, sum(rows) AS told
        FROM batches
        GROUP BY source, batch
    )
    GROUP BY source
)
ORDER BY late DESC NULLS LAST, source
