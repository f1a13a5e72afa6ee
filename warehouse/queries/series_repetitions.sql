-- Every repetition of one series with one of its numbers, night by night: refused ones too, which have reasons. A night is
-- the UTC day on which the run began; sides of comparisons are no part of it.
-- @series_id: the series
-- @metric: what to show = tpot_ms
-- @statistic: its statistic = p50
-- @window: full or steady = full
-- @days: how many days back = 90
SELECT
    s.night AS night, r.started_at AS started_at, r.status AS status, r.reasons AS reasons, m.value AS value, m.unit AS unit,
    m.n AS n, r.host AS host, ifNull(r.driver, '') AS driver, r.client AS client, r.client_version AS client_version,
    ifNull(r.engine_commit, '') AS engine_commit, ifNull(r.image_digest, '') AS image_digest, r.config_fp AS config_fp,
    r.run_id AS run_id, r.repetition_id AS repetition_id
FROM
(
    SELECT * FROM repetitions
    WHERE series_id = {series_id: String} AND kind = 'load' AND side = 'single'
        AND started_at > now() - toIntervalDay({days: UInt16})
    LIMIT 1 BY repetition_id
) AS r
INNER JOIN
(
    SELECT run_id, toDate(min(started_at)) AS night FROM repetitions
    WHERE kind = 'load' AND side = 'single'
        AND run_id IN (SELECT run_id FROM repetitions WHERE series_id = {series_id: String})
    GROUP BY run_id
) AS s ON r.run_id = s.run_id
LEFT JOIN
(
    SELECT repetition_id, value, unit, n FROM metrics
    WHERE metric = {metric: String} AND statistic = {statistic: String} AND `window` = {window: String}
        AND series_id = {series_id: String} AND side = 'single'
    LIMIT 1 BY repetition_id
) AS m ON r.repetition_id = m.repetition_id
ORDER BY started_at, repetition_id
SETTINGS join_use_nulls = 1
