-- Which questions of a task did two evals answer how? One row per question, losses first, with short texts; ``matching`` is
-- how many rows there are without the limit.
-- @task: the task
-- @before: the earlier repetition
-- @after: the later repetition
-- @filter: the answer extraction =
-- @show: discordant, wrong (by either side, or asked by one alone), or all = discordant
-- @find: only questions in whose id, texts or answers this stands =
-- @limit: how many rows at most = 200
-- @skip: how many rows before them = 0
WITH sides AS
(
    SELECT
        item_id, any(question) AS question, any(expected) AS expected,
        anyIf(score, repetition_id = {before: String}) AS score_before,
        anyIf(score, repetition_id = {after: String}) AS score_after,
        anyIf(answer, repetition_id = {before: String}) AS answer_before,
        anyIf(answer, repetition_id = {after: String}) AS answer_after,
        anyIf(finish_reason, repetition_id = {before: String}) AS finish_before,
        anyIf(finish_reason, repetition_id = {after: String}) AS finish_after,
        anyIf(output_tokens, repetition_id = {before: String}) AS tokens_before,
        anyIf(output_tokens, repetition_id = {after: String}) AS tokens_after,
        countIf(repetition_id = {before: String}) > 0 AS asked_before,
        countIf(repetition_id = {after: String}) > 0 AS asked_after,
        multiIf(
            NOT asked_after, 'only before', NOT asked_before, 'only after',
            isNull(score_before) OR isNull(score_after), 'not scored',
            score_after < score_before, 'lost', score_after > score_before, 'gained',
            score_after = 1, 'both right', score_after = 0, 'both wrong', 'same') AS change
    FROM
    (
        SELECT item_id, repetition_id, score, question, expected, answer, finish_reason, output_tokens
        FROM eval_samples
        WHERE task = {task: String} AND filter = {filter: String} AND repetition_id IN ({before: String}, {after: String})
            AND ({find: String} = '' OR item_id IN
            (
                SELECT item_id FROM eval_samples
                WHERE task = {task: String} AND filter = {filter: String}
                    AND repetition_id IN ({before: String}, {after: String})
                    AND (positionCaseInsensitiveUTF8(item_id, {find: String}) > 0
                        OR positionCaseInsensitiveUTF8(question, {find: String}) > 0
                        OR positionCaseInsensitiveUTF8(expected, {find: String}) > 0
                        OR positionCaseInsensitiveUTF8(answer, {find: String}) > 0
                        OR positionCaseInsensitiveUTF8(response, {find: String}) > 0)
            ))
        LIMIT 1 BY repetition_id, item_id
    )
    GROUP BY item_id
)
SELECT
    item_id, leftUTF8(question, 160) AS question, leftUTF8(expected, 80) AS expected, score_before, score_after,
    leftUTF8(answer_before, 80) AS answer_before, leftUTF8(answer_after, 80) AS answer_after,
    finish_before, finish_after, tokens_before, tokens_after, change, count() OVER () AS matching
FROM sides
WHERE multiIf(
    {show: String} = 'discordant', change IN ('lost', 'gained'),
    {show: String} = 'wrong', change NOT IN ('both right', 'same'),
    true)
ORDER BY indexOf(['lost', 'not scored', 'only before', 'only after', 'gained', 'both wrong', 'same'], change) = 0,
    indexOf(['lost', 'not scored', 'only before', 'only after', 'gained', 'both wrong', 'same'], change),
    toUInt64OrNull(item_id) NULLS LAST, item_id
LIMIT {limit: UInt32} OFFSET {skip: UInt32}
