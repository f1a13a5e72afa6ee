-- What did sessions show whose two sides are builds under suspicion? Valid repetitions, one row each.
-- @recipes: the recipes, with commas
-- @builds: engine commits or image digests, with commas
-- @metrics: what to read, METRIC/STATISTIC with commas = tpot_ms/p50
-- @days: how many days back = 60
SELECT
    r.run_id AS run_id, r.series_id AS series_id, r.side AS side, r.pair AS pair, r.engine_commit AS engine_commit,
    r.image_digest AS image_digest, r.config_fp AS config_fp, r.started_at AS started_at, m.metric AS metric,
    m.statistic AS statistic, m.value AS value
FROM
(
    SELECT repetition_id, metric, statistic, value FROM metrics
    WHERE (metric, statistic) IN
        (
            SELECT splitByChar('/', each)[1], splitByChar('/', each)[2]
            FROM (SELECT arrayJoin(splitByChar(',', {metrics: String})) AS each)
        )
        AND `window` = 'full' AND isNotNull(value) AND side != 'single'
    LIMIT 1 BY repetition_id, metric, statistic
) AS m
INNER JOIN
(
    SELECT
        run_id, repetition_id, series_id, side, pair, ifNull(engine_commit, '') AS engine_commit,
        ifNull(image_digest, '') AS image_digest, config_fp, started_at
    FROM repetitions
    WHERE kind = 'load' AND side != 'single' AND status = 'valid' AND has(splitByChar(',', {recipes: String}), recipe)
        AND hasAny(splitByChar(',', {builds: String}), [engine_commit, image_digest])
        AND started_at > now() - toIntervalDay({days: UInt16})
    LIMIT 1 BY repetition_id
) AS r ON m.repetition_id = r.repetition_id
ORDER BY started_at, r.repetition_id
