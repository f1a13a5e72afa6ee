-- Two images side by side: the values of every metric of every series that either was measured on.
-- A verdict needs statistics; this only lays the values out, and says where configurations differ.
-- @before: digest of the earlier image, or its engine commit
-- @after: digest of the later image, or its engine commit
-- @window: full or steady = full
SELECT
    r.recipe AS recipe, r.workload AS workload, r.point AS point, r.accelerator AS accelerator,
    r.series_id AS series_id, m.metric AS metric, m.statistic AS statistic, any(m.unit) AS unit,
    any(m.direction) AS direction,
    groupArrayIf(m.value, r.is_before AND m.value IS NOT NULL) AS before,
    groupArrayIf(m.value, NOT r.is_before AND m.value IS NOT NULL) AS after,
    arrayReduce('median', before) AS median_before, arrayReduce('median', after) AS median_after,
    arraySort(groupUniqArrayIf(r.config_fp, r.is_before)) AS configs_before,
    arraySort(groupUniqArrayIf(r.config_fp, NOT r.is_before)) AS configs_after,
    toBool(configs_before = configs_after) AS comparable
FROM
(
    SELECT *, (ifNull(image_digest, '') = {before: String} OR ifNull(engine_commit, '') = {before: String}) AS is_before
    FROM repetitions
    WHERE status = 'valid' AND (image_digest IN ({before: String}, {after: String})
        OR engine_commit IN ({before: String}, {after: String}))
    LIMIT 1 BY repetition_id
) AS r
INNER JOIN
(
    SELECT repetition_id, metric, statistic, any(value) AS value, any(unit) AS unit, any(direction) AS direction
    FROM metrics
    WHERE `window` = {window: String} AND repetition_id IN
    (
        SELECT repetition_id FROM repetitions
        WHERE image_digest IN ({before: String}, {after: String}) OR engine_commit IN ({before: String}, {after: String})
    )
    GROUP BY repetition_id, metric, statistic
) AS m ON r.repetition_id = m.repetition_id
GROUP BY recipe, workload, point, accelerator, series_id, metric, statistic
ORDER BY recipe, workload, point, accelerator, metric, statistic
