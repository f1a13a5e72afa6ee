-- Which series of loads are there, and what did each show on the last night on which it was measured? A night is the UTC
-- day on which its run began, its value the median of the valid repetitions; sides of comparisons are no part of it.
-- @metric: what to show = tpot_ms
-- @statistic: its statistic = p50
-- @window: full or steady = full
-- @days: how many days back = 400
-- @recent: in how many of the last nights missing ones are counted = 14
SELECT
    * EXCEPT (all_nights, valid_nights, calendar), length(calendar) AS recent_nights,
    length(arrayFilter(each -> NOT has(valid_nights, each), calendar)) AS recent_missing
FROM
(
    SELECT
        *, arraySlice(arrayReverseSort(arrayDistinct(arrayFlatten(groupArray(all_nights) OVER ()))), 1, {recent: UInt16})
            AS calendar
    FROM
    (
        SELECT
            series_id, any(recipe) AS recipe, any(workload) AS workload, any(point) AS point, any(model) AS model,
            any(accelerator) AS accelerator, max(last_at) AS last_measured,
            if(countIf(valid > 0) = 0, NULL, maxIf(night, valid > 0)) AS newest_night,
            argMaxIf(middle, night, valid > 0) AS newest_value, argMaxIf(valid, night, valid > 0) AS newest_n,
            max(unit) AS unit, max(direction) AS direction, countIf(valid > 0) AS nights,
            groupArray(night) AS all_nights, groupArrayIf(night, valid > 0) AS valid_nights
        FROM
        (
            SELECT
                series_id, night, any(recipe) AS recipe, any(workload) AS workload, any(point) AS point,
                any(model) AS model, any(accelerator) AS accelerator, max(started_at) AS last_at,
                quantileExactInclusiveOrNullIf(0.5)(assumeNotNull(value), isNotNull(value) AND status = 'valid') AS middle,
                countIf(isNotNull(value) AND status = 'valid') AS valid, any(unit) AS unit, any(direction) AS direction
            FROM
            (
                SELECT r.*, m.value AS value, m.unit AS unit, m.direction AS direction,
                    toDate(min(r.started_at) OVER (PARTITION BY r.run_id)) AS night
                FROM
                (
                    SELECT
                        series_id, recipe, workload, point, model, ifNull(accelerator, '') AS accelerator, run_id,
                        repetition_id, started_at, status
                    FROM repetitions
                    WHERE kind = 'load' AND side = 'single' AND started_at > now() - toIntervalDay({days: UInt16})
                    LIMIT 1 BY repetition_id
                ) AS r
                LEFT JOIN
                (
                    SELECT repetition_id, any(value) AS value, any(unit) AS unit, any(direction) AS direction FROM metrics
                    WHERE metric = {metric: String} AND statistic = {statistic: String} AND `window` = {window: String}
                        AND side = 'single'
                    GROUP BY repetition_id
                ) AS m ON r.repetition_id = m.repetition_id
            )
            GROUP BY series_id, night
        )
        GROUP BY series_id
    )
)
ORDER BY recipe, accelerator, workload, point, series_id
SETTINGS join_use_nulls = 1
