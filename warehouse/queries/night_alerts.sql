-- Which alerts did one night record, in the order in which they were recorded?
-- @night: the night
SELECT subject, outcome, reason, blocking, at, evidence
FROM decisions
WHERE kind = 'alert' AND run_id = concat('nightly/', toString({night: Date}))
ORDER BY at, decision_id
LIMIT 1 BY decision_id
