-- Scores of every task of some recipes, one row per run, oldest first.
-- @recipes: the recipes, with commas; none means all of them =
-- @night: the last night
-- @days: how many nights back = 60
SELECT
    e.series_id AS series_id, r.recipe AS recipe, r.workload AS workload, r.point AS point, r.model AS model,
    ifNull(r.accelerator, '') AS accelerator, e.task AS task, e.metric AS metric, e.filter AS filter,
    e.direction AS direction, r.night AS night, r.started_at AS started_at, e.value AS value, e.stderr AS stderr,
    e.n AS n, e.partial AS partial, e.harness AS harness, e.harness_version AS harness_version,
    e.task_version AS task_version, e.fewshot AS fewshot, r.config_fp AS config_fp,
    ifNull(r.engine_commit, '') AS engine_commit, ifNull(r.image_digest, '') AS image_digest, r.run_id AS run_id
FROM
(
    SELECT * FROM eval_results LIMIT 1 BY repetition_id, task, metric, filter
) AS e
INNER JOIN
(
    SELECT *, toDate(min(started_at) OVER (PARTITION BY run_id)) AS night
    FROM
    (
        SELECT * FROM repetitions
        WHERE kind = 'eval' AND side = 'single' AND status = 'valid'
            AND ({recipes: String} = '' OR has(splitByChar(',', {recipes: String}), recipe))
            AND started_at >= toDateTime({night: Date} - {days: UInt16}, 'UTC')
            AND started_at < toDateTime({night: Date} + 2, 'UTC')
        LIMIT 1 BY repetition_id
    )
) AS r ON e.repetition_id = r.repetition_id
WHERE r.night <= {night: Date} AND isNotNull(e.value)
ORDER BY recipe, point, task, metric, filter, started_at
