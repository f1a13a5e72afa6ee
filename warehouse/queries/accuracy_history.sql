-- Accuracies of one series of evals, newest first, without what was invalid or failed.
-- @series_id: the series
-- @days: how many days back = 400
SELECT r.started_at AS started_at, m.value AS value, m.n AS n, r.repetition_id AS repetition_id
FROM
(
    SELECT repetition_id, started_at FROM repetitions
    WHERE series_id = {series_id: String} AND kind = 'eval' AND status = 'valid'
        AND started_at > now() - toIntervalDay({days: UInt16})
    LIMIT 1 BY repetition_id
) AS r
INNER JOIN
(
    SELECT repetition_id, any(value) AS value, any(n) AS n FROM metrics
    WHERE metric = 'accuracy' AND statistic = 'mean' AND `window` = 'full' AND series_id = {series_id: String}
    GROUP BY repetition_id
) AS m ON r.repetition_id = m.repetition_id
ORDER BY started_at DESC
