-- The same question answered by both sides of one run, for all valid repetitions.
-- @run_id: the run
SELECT
    task, pair, item_id,
    anyIf(score, side = 'baseline') AS baseline_score,
    anyIf(score, side = 'candidate') AS candidate_score,
    anyIf(status, side = 'baseline') AS baseline_status,
    anyIf(status, side = 'candidate') AS candidate_status,
    anyIf(answer, side = 'baseline') AS baseline_answer,
    anyIf(answer, side = 'candidate') AS candidate_answer,
    any(expected) AS expected
FROM eval_samples
WHERE run_id = {run_id: String} AND repetition_id IN
(
    SELECT repetition_id
    FROM repetitions
    WHERE run_id = {run_id: String} AND status = 'valid'
)
GROUP BY task, pair, item_id
ORDER BY task, pair, item_id
