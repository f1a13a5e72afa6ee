-- What was decided about a subject, newest first?
-- @subject: the subject
-- @limit: how many = 100
SELECT kind, subject, outcome, reason, actor, mode, blocking, at, expires_at, supersedes, evidence, run_id, decision_id
FROM decisions
WHERE subject = {subject: String}
ORDER BY at DESC, decision_id
LIMIT 1 BY decision_id
LIMIT {limit: UInt32}
