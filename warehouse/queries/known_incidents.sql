-- What is the newest word about each incident, newest first? Incidents that ended count for as long as asked.
-- @days: how many days back an incident may have been spoken of = 90
SELECT
    subject, argMax(outcome, (d.at, decision_id)) AS outcome, argMax(reason, (d.at, decision_id)) AS reason,
    argMax(evidence, (d.at, decision_id)) AS evidence, argMax(actor, (d.at, decision_id)) AS actor,
    min(d.at) AS opened_at, max(d.at) AS at
FROM decisions AS d
WHERE kind = 'incident' AND d.at > now() - toIntervalDay({days: UInt16})
GROUP BY subject
ORDER BY at DESC, subject
