-- Scores of a task over time, with standard errors; a harness of another version begins a new segment.
-- @task: the task
-- @days: how many days back = 400
SELECT
    r.recipe AS recipe, r.model AS model, r.accelerator AS accelerator, r.started_at AS started_at,
    e.metric AS metric, e.filter AS filter, e.value AS value, e.stderr AS stderr, e.n AS n, e.partial AS partial,
    e.harness AS harness, e.harness_version AS harness_version, e.task_version AS task_version,
    r.config_fp AS config_fp, r.engine_commit AS engine_commit, r.image_digest AS image_digest,
    r.status AS status, r.reasons AS reasons, e.series_id AS series_id, e.repetition_id AS repetition_id
FROM (SELECT * FROM eval_results WHERE task = {task: String} LIMIT 1 BY repetition_id, metric, filter) AS e
INNER JOIN
(
    SELECT * FROM repetitions
    WHERE kind = 'eval' AND started_at > now() - toIntervalDay({days: UInt16})
    LIMIT 1 BY repetition_id
) AS r ON e.repetition_id = r.repetition_id
ORDER BY recipe, metric, filter, started_at
