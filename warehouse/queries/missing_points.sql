-- Which points of the nightly matrix are missing or invalid? Those that were measured in the nights before. A night is the
-- UTC day on which its run began; sides of comparisons are no part of it.
-- @night: the night to look at
-- @nights: how many nights before say what is expected = 14
-- @times: in how many of them a point must have been seen = 2
SELECT
    recipe, workload, point, accelerator, nights_seen, last_seen, valid, invalid, reasons,
    if(valid + invalid = 0, 'missing', 'invalid') AS state, series_id, kind
FROM
(
    SELECT
        series_id, any(r.recipe) AS recipe, any(r.workload) AS workload, any(r.point) AS point,
        any(r.accelerator) AS accelerator, any(r.kind) AS kind,
        uniqExactIf(r.night, r.night < {night: Date} AND r.status = 'valid') AS nights_seen,
        maxIf(r.started_at, r.night < {night: Date} AND r.status = 'valid') AS last_seen,
        uniqExactIf(r.repetition_id, r.night = {night: Date} AND r.status = 'valid') AS valid,
        uniqExactIf(r.repetition_id, r.night = {night: Date} AND r.status != 'valid') AS invalid,
        arrayDistinct(arrayFlatten(groupArrayIf(r.reasons, r.night = {night: Date}))) AS reasons
    FROM
    (
        SELECT
            series_id, recipe, workload, point, accelerator, kind, status, reasons, started_at, repetition_id,
            toDate(min(started_at) OVER (PARTITION BY run_id)) AS night
        FROM repetitions
        WHERE side = 'single' AND started_at >= toDateTime({night: Date} - {nights: UInt16}, 'UTC')
            AND started_at < toDateTime({night: Date} + 2, 'UTC')
    ) AS r
    GROUP BY series_id
)
WHERE nights_seen >= {times: UInt16} AND valid = 0
ORDER BY state DESC, recipe, workload, point
