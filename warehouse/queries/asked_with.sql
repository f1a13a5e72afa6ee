-- What the answers of one repetition, or of one side of a run, were asked with: harness, task, settings.
-- @repetition_id: the repetition; empty: those of the run =
-- @run_id: the run =
-- @side: its side; empty: all of them =
SELECT
    r.repetition_id AS repetition_id, r.workload AS workload, r.side AS side, r.pair AS pair,
    r.status AS status, r.reasons AS reasons,
    r.client AS client, r.client_version AS client_version, r.model AS model, r.config_fp AS config_fp,
    r.dataset_digest AS dataset_digest, r.settings AS settings,
    e.metric AS metric, e.harness AS harness, e.harness_version AS harness_version,
    e.task_version AS task_version, e.fewshot AS fewshot
FROM
(
    SELECT * FROM repetitions
    WHERE kind = 'eval'
        AND ({repetition_id: String} != '' OR {run_id: String} != '')
        AND ({repetition_id: String} = '' OR repetition_id = {repetition_id: String})
        AND ({run_id: String} = '' OR run_id = {run_id: String})
        AND ({side: String} = '' OR side = {side: String})
    LIMIT 1 BY repetition_id
) AS r
LEFT JOIN
(
    SELECT
        repetition_id, any(metric) AS metric, any(harness) AS harness, any(harness_version) AS harness_version,
        any(task_version) AS task_version, any(fewshot) AS fewshot
    FROM eval_results GROUP BY repetition_id
) AS e ON r.repetition_id = e.repetition_id
ORDER BY r.workload, r.pair, r.repetition_id
