-- On which nights was each series of some recipes measured, under which configuration? One row per series, fingerprint
-- and driver. A night is the UTC day on which its run began; a second build of one night is a point of its own. Sides of
-- comparisons are left out: they answer a question of their own.
-- @recipes: the recipes, with commas; none means all of them =
-- @night: the last night
-- @days: how many nights back = 400
SELECT
    series_id, config_fp, driver,
    any(recipe) AS recipe, any(workload) AS workload, any(point) AS point, any(model) AS model,
    any(accelerator) AS accelerator, any(client) AS client, any(client_version) AS client_version,
    any(dataset_digest) AS dataset_digest, any(engine_kind) AS engine_kind, any(settings) AS settings,
    arraySort(x -> x.3, groupArray((build, night, began_ms, engine_commit, image_digest, refused, reasons, hosts, runs)))
        AS points
FROM
(
    SELECT
        series_id, config_fp, driver, night, engine_commit, image_digest,
        cityHash64(night, engine_commit, image_digest) AS build,
        any(recipe) AS recipe, any(workload) AS workload, any(point) AS point, any(model) AS model,
        any(accelerator) AS accelerator, any(client) AS client, any(client_version) AS client_version,
        any(dataset_digest) AS dataset_digest, any(engine_kind) AS engine_kind, any(settings) AS settings,
        toUnixTimestamp64Milli(min(started_at)) AS began_ms, countIf(status != 'valid') AS refused,
        arraySort(arrayDistinct(arrayFlatten(groupArray(why)))) AS reasons,
        arraySort(groupUniqArray(host)) AS hosts, arraySort(groupUniqArray(run_id)) AS runs
    FROM
    (
        SELECT *, toDate(min(started_at) OVER (PARTITION BY run_id)) AS night
        FROM
        (
            SELECT
                series_id, config_fp, ifNull(driver, '') AS driver, recipe, workload, point, model,
                ifNull(accelerator, '') AS accelerator, client, client_version, dataset_digest, engine_kind, settings,
                ifNull(engine_commit, '') AS engine_commit, ifNull(image_digest, '') AS image_digest, started_at,
                status, reasons AS why, host, run_id, repetition_id
            FROM repetitions
            WHERE kind = 'load' AND side = 'single'
                AND ({recipes: String} = '' OR has(splitByChar(',', {recipes: String}), recipe))
                AND started_at >= toDateTime({night: Date} - {days: UInt16}, 'UTC')
                AND started_at < toDateTime({night: Date} + 2, 'UTC')
            LIMIT 1 BY repetition_id
        )
    )
    WHERE night <= {night: Date}
    GROUP BY series_id, config_fp, driver, night, engine_commit, image_digest
)
GROUP BY series_id, config_fp, driver
ORDER BY recipe, workload, point, series_id, arrayMin(x -> x.3, points)
