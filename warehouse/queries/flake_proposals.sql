-- What was decided about flaky tests and jobs lately, newest first? Other annotations are left out.
-- @days: how many days back = 30
SELECT subject, outcome, mode, evidence, d.at AS at
FROM decisions AS d
WHERE kind = 'annotation' AND d.at > now() - toIntervalDay({days: UInt16})
    AND JSONExtractString(evidence, 'marker') != ''
ORDER BY d.at DESC, subject, decision_id
LIMIT 1 BY decision_id
