-- What did the series of some recipes show each night? One row per series, fingerprint, driver and statistic; each of its
-- points is (build, median of the valid repetitions, how many those were), with the builds of history_nights.
-- @recipes: the recipes, with commas; none means all of them =
-- @metrics: what to read, METRIC/STATISTIC with commas = tpot_ms/p50
-- @window: full or steady = full
-- @night: the last night
-- @days: how many nights back = 400
SELECT
    series_id, config_fp, driver, metric, statistic, any(unit) AS unit, any(direction) AS direction,
    groupArray((build, middle, valid)) AS points
FROM
(
    SELECT
        r.series_id AS series_id, config_fp, driver, metric, statistic, build, any(m.unit) AS unit,
        any(m.direction) AS direction, quantileExactInclusive(0.5)(assumeNotNull(m.value)) AS middle, count() AS valid
    FROM
    (
        SELECT repetition_id, metric, statistic, value, unit, direction FROM metrics
        WHERE (metric, statistic) IN
            (
                SELECT splitByChar('/', each)[1], splitByChar('/', each)[2]
                FROM (SELECT arrayJoin(splitByChar(',', {metrics: String})) AS each)
            )
            AND `window` = {window: String} AND isNotNull(value) AND side = 'single'
        LIMIT 1 BY repetition_id, metric, statistic
    ) AS m
    INNER JOIN
    (
        SELECT
            repetition_id, series_id, config_fp, driver, status,
            toDate(min(started_at) OVER (PARTITION BY run_id)) AS night,
            cityHash64(night, engine_commit, image_digest) AS build
        FROM
        (
            SELECT
                repetition_id, series_id, config_fp, ifNull(driver, '') AS driver, status, started_at, run_id,
                ifNull(engine_commit, '') AS engine_commit, ifNull(image_digest, '') AS image_digest
            FROM repetitions
            WHERE kind = 'load' AND side = 'single'
                AND ({recipes: String} = '' OR has(splitByChar(',', {recipes: String}), recipe))
                AND started_at >= toDateTime({night: Date} - {days: UInt16}, 'UTC')
                AND started_at < toDateTime({night: Date} + 2, 'UTC')
            LIMIT 1 BY repetition_id
        )
    ) AS r ON m.repetition_id = r.repetition_id
    WHERE r.status = 'valid' AND r.night <= {night: Date}
    GROUP BY series_id, config_fp, driver, metric, statistic, build
)
GROUP BY series_id, config_fp, driver, metric, statistic
ORDER BY series_id, metric, statistic, config_fp, driver
