-- How did one series of evals score on a task, newest first? Refused ones too, and how many answers are kept of each.
-- @series_id: the series
-- @task: the task
-- @days: how many days back = 400
-- @limit: how many scores at most = 2000
WITH own AS
(
    SELECT *
    FROM repetitions
    WHERE kind = 'eval' AND series_id = {series_id: String} AND started_at > now() - toIntervalDay({days: UInt16})
    LIMIT 1 BY repetition_id
)
SELECT
    e.series_id AS series_id, r.recipe AS recipe, r.workload AS workload, r.point AS point, r.model AS model,
    ifNull(r.accelerator, '') AS accelerator, e.task AS task, e.metric AS metric, e.filter AS filter,
    e.direction AS direction, n.night AS night, r.started_at AS started_at, e.value AS value, e.stderr AS stderr,
    e.n AS n, e.partial AS partial, e.harness AS harness, e.harness_version AS harness_version,
    e.task_version AS task_version, e.fewshot AS fewshot, r.config_fp AS config_fp,
    ifNull(r.engine_commit, '') AS engine_commit, ifNull(r.image_digest, '') AS image_digest,
    ifNull(r.engine_version, '') AS engine_version, r.run_id AS run_id, r.side AS side, r.status AS status,
    r.reasons AS reasons, r.repetition_id AS repetition_id, s.samples AS samples
FROM
(
    SELECT * FROM eval_results
    WHERE task = {task: String} AND series_id = {series_id: String}
    LIMIT 1 BY repetition_id, metric, filter
) AS e
INNER JOIN own AS r ON e.repetition_id = r.repetition_id
LEFT JOIN
(
    SELECT run_id, toDate(min(started_at)) AS night
    FROM repetitions WHERE run_id IN (SELECT run_id FROM own) GROUP BY run_id
) AS n ON n.run_id = r.run_id
LEFT JOIN
(
    SELECT repetition_id, filter, uniqExact(item_id) AS samples
    FROM eval_samples
    WHERE task = {task: String} AND repetition_id IN (SELECT repetition_id FROM own)
    GROUP BY repetition_id, filter
) AS s ON s.repetition_id = e.repetition_id AND s.filter = e.filter
ORDER BY started_at DESC, repetition_id, metric, filter
LIMIT {limit: UInt32}
