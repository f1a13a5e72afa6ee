-- Which jobs failed on main although the pull request's selection had left them out? Newest first.
-- @days: how many days back = 30
-- @limit: how many = 100
SELECT subject, reason, at, actor, run_id, decision_id
FROM decisions
WHERE kind = 'selection' AND outcome = 'escaped' AND at > now() - toIntervalDay({days: UInt16})
ORDER BY at DESC, decision_id
LIMIT 1 BY decision_id
LIMIT {limit: UInt32}
