-- What is the newest word about each alert of the fleet, and about each silence? Alerts of nights are others.
-- @days: how many days back = 120
SELECT
    subject, argMax(outcome, (d.at, decision_id)) AS outcome, argMax(reason, (d.at, decision_id)) AS reason,
    argMax(evidence, (d.at, decision_id)) AS evidence, argMax(actor, (d.at, decision_id)) AS actor,
    argMax(tuple(expires_at), (d.at, decision_id)).1 AS expires_at, max(d.at) AS at
FROM decisions AS d
WHERE kind = 'alert' AND NOT startsWith(subject, 'history/') AND d.at > now() - toIntervalDay({days: UInt16})
GROUP BY subject
ORDER BY subject
