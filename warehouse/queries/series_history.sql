-- One metric of a recipe over time, repetition by repetition. `segment` counts the changes of the configuration
-- so far: values of different segments do not compare.
-- @recipe: the recipe
-- @metric: the metric = tpot_ms
-- @statistic: its statistic = p50
-- @window: full or steady = full
-- @days: how many days back = 400
SELECT
    *, dense_rank() OVER (PARTITION BY series_id ORDER BY segment_began) AS segment
FROM
(
    SELECT
        r.series_id AS series_id, r.workload AS workload, r.point AS point, r.accelerator AS accelerator,
        r.started_at AS started_at, r.engine_commit AS engine_commit, r.image_digest AS image_digest,
        r.config_fp AS config_fp, r.host AS host, r.client AS client, r.client_version AS client_version,
        r.status AS status, r.reasons AS reasons, m.value AS value, m.unit AS unit, m.direction AS direction,
        m.n AS n, r.run_id AS run_id, r.repetition_id AS repetition_id,
        min(r.started_at) OVER (PARTITION BY r.series_id, r.config_fp) AS segment_began
    FROM
    (
        SELECT * FROM repetitions
        WHERE recipe = {recipe: String} AND kind = 'load' AND started_at > now() - toIntervalDay({days: UInt16})
        LIMIT 1 BY repetition_id
    ) AS r
    LEFT JOIN
    (
        SELECT repetition_id, any(value) AS value, any(unit) AS unit, any(direction) AS direction, any(n) AS n
        FROM metrics
        WHERE metric = {metric: String} AND statistic = {statistic: String} AND `window` = {window: String}
            AND series_id IN (SELECT series_id FROM repetitions WHERE recipe = {recipe: String})
        GROUP BY repetition_id
    ) AS m ON r.repetition_id = m.repetition_id
)
ORDER BY series_id, started_at, repetition_id
SETTINGS join_use_nulls = 1
