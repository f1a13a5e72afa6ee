-- How many questions of a task did two evals both answer rightly, lose, gain, answer wrongly, or not both answer?
-- @task: the task
-- @before: the earlier repetition
-- @after: the later repetition
-- @filter: the answer extraction =
SELECT
    countIf(b AND a AND sb = 1 AND sa = 1) AS both_right, countIf(b AND a AND sa < sb) AS lost,
    countIf(b AND a AND sa > sb) AS gained, countIf(b AND a AND sb = 0 AND sa = 0) AS both_wrong,
    countIf(b AND a AND sb = sa AND sb NOT IN (0, 1)) AS both_graded_alike,
    countIf(b AND a AND (isNull(sb) OR isNull(sa))) AS not_scored,
    countIf(b AND NOT a) AS only_before, countIf(a AND NOT b) AS only_after,
    countIf(b) AS asked_before, countIf(a) AS asked_after,
    sum(length_before) AS cut_before, sum(length_after) AS cut_after
FROM
(
    SELECT
        item_id, countIf(repetition_id = {before: String}) > 0 AS b, countIf(repetition_id = {after: String}) > 0 AS a,
        anyIf(score, repetition_id = {before: String}) AS sb, anyIf(score, repetition_id = {after: String}) AS sa,
        max(repetition_id = {before: String} AND ifNull(finish_reason, '') = 'length') AS length_before,
        max(repetition_id = {after: String} AND ifNull(finish_reason, '') = 'length') AS length_after
    FROM
    (
        SELECT item_id, repetition_id, score, finish_reason FROM eval_samples
        WHERE task = {task: String} AND filter = {filter: String} AND repetition_id IN ({before: String}, {after: String})
        LIMIT 1 BY repetition_id, item_id
    )
    GROUP BY item_id
)
