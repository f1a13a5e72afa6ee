-- The questions of a task that two repetitions answered differently, with both answers.
-- @task: the task
-- @before: the earlier repetition
-- @after: the later repetition
-- @filter: the answer extraction =
SELECT
    item_id, any(question) AS question, any(expected) AS expected,
    anyIf(score, repetition_id = {before: String}) AS score_before,
    anyIf(score, repetition_id = {after: String}) AS score_after,
    anyIf(answer, repetition_id = {before: String}) AS answer_before,
    anyIf(answer, repetition_id = {after: String}) AS answer_after,
    anyIf(response, repetition_id = {before: String}) AS response_before,
    anyIf(response, repetition_id = {after: String}) AS response_after,
    anyIf(finish_reason, repetition_id = {before: String}) AS finish_reason_before,
    anyIf(finish_reason, repetition_id = {after: String}) AS finish_reason_after,
    countIf(repetition_id = {before: String}) > 0 AS asked_before,
    countIf(repetition_id = {after: String}) > 0 AS asked_after
FROM eval_samples
WHERE task = {task: String} AND repetition_id IN ({before: String}, {after: String})
    AND ({filter: String} = '' OR filter = {filter: String})
GROUP BY item_id
HAVING score_before IS DISTINCT FROM score_after
ORDER BY score_after IS NULL DESC, score_after < score_before DESC, item_id
