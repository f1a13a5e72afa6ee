-- Which points of the nightly matrix are missing or invalid? Those that were measured in the nights before.
-- @night: the UTC day to look at
-- @nights: how many nights before say what is expected = 14
-- @times: in how many of them a point must have been seen = 2
SELECT
    recipe, workload, point, accelerator, nights_seen, last_seen,
    ifNull(t.valid, 0) AS valid, ifNull(t.invalid, 0) AS invalid, t.reasons AS reasons,
    if(ifNull(t.valid, 0) + ifNull(t.invalid, 0) = 0, 'missing', 'invalid') AS state
FROM
(
    SELECT series_id, any(r.recipe) AS recipe, any(r.workload) AS workload, any(r.point) AS point,
        any(r.accelerator) AS accelerator, uniqExact(toDate(r.started_at)) AS nights_seen, max(r.started_at) AS last_seen
    FROM repetitions AS r
    WHERE toDate(r.started_at) < {night: Date} AND toDate(r.started_at) >= {night: Date} - {nights: UInt16}
        AND r.status = 'valid'
    GROUP BY series_id
    HAVING nights_seen >= {times: UInt16}
) AS expected
LEFT JOIN
(
    SELECT series_id, uniqExactIf(repetition_id, status = 'valid') AS valid,
        uniqExactIf(repetition_id, status != 'valid') AS invalid, arrayDistinct(arrayFlatten(groupArray(r.reasons))) AS reasons
    FROM repetitions AS r
    WHERE toDate(started_at) = {night: Date}
    GROUP BY series_id
) AS t USING (series_id)
WHERE ifNull(t.valid, 0) = 0
ORDER BY state DESC, recipe, workload, point
SETTINGS join_use_nulls = 1
