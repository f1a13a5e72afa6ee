-- Which alerts were recorded about subjects that begin so, oldest first?
-- @prefix: how the subject begins = history/
-- @days: how many days back = 400
SELECT subject, outcome, reason, at, run_id, evidence, decision_id
FROM decisions
WHERE kind = 'alert' AND startsWith(subject, {prefix: String}) AND at > now() - toIntervalDay({days: UInt16})
ORDER BY at, decision_id
LIMIT 1 BY decision_id
