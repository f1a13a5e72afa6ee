-- The same question answered by both sides of one run, for all valid repetitions.
SELECT
    s.task AS task, s.pair AS pair, s.item_id AS item_id,
    anyIf(s.score, s.side = 'baseline') AS baseline_score,
    anyIf(s.score, s.side = 'candidate') AS candidate_score,
    anyIf(s.status, s.side = 'baseline') AS baseline_status,
    anyIf(s.status, s.side = 'candidate') AS candidate_status,
    anyIf(s.answer, s.side = 'baseline') AS baseline_answer,
    anyIf(s.answer, s.side = 'candidate') AS candidate_answer,
    any(s.expected) AS expected
FROM eval_samples AS s
INNER JOIN
(
    SELECT repetition_id
    FROM repetitions
    WHERE run_id = {run_id: String} AND status = 'valid'
) AS r ON s.repetition_id = r.repetition_id
WHERE s.run_id = {run_id: String}
GROUP BY task, pair, item_id
ORDER BY task, pair, item_id
