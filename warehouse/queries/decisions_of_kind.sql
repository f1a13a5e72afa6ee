-- What was decided of one kind, newest first?
-- @kind: the kind, such as revert
-- @days: how many days back = 30
-- @limit: how many = 5000
SELECT subject, outcome, reason, evidence, mode, actor, at, expires_at, run_id, decision_id
FROM decisions
WHERE kind = {kind: String} AND at > now() - toIntervalDay({days: UInt16})
ORDER BY at DESC, decision_id
LIMIT 1 BY decision_id
LIMIT {limit: UInt32}
