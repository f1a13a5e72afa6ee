-- What did two evals answer to one question? One row per side, with whole texts.
-- @task: the task
-- @item: the question's id
-- @before: the earlier repetition
-- @after: the later repetition
-- @filter: the answer extraction =
SELECT
    if(repetition_id = {before: String}, 'before', 'after') AS which, status, score, question, expected, answer, response,
    error, finish_reason, output_tokens
FROM eval_samples
WHERE task = {task: String} AND item_id = {item: String} AND filter = {filter: String}
    AND repetition_id IN ({before: String}, {after: String})
ORDER BY which DESC
LIMIT 1 BY repetition_id
