-- What did people let pass of one candidate? Every word, oldest first.
-- @run_id: the candidate
SELECT subject, outcome, reason, actor, evidence, at, expires_at, decision_id
FROM decisions
WHERE kind = 'waiver' AND run_id = {run_id: String}
ORDER BY at, decision_id
LIMIT 1 BY decision_id
