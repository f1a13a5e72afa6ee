-- What was the last word about each quarantine that is not released, expired ones too?
SELECT
    subject, argMax(outcome, (d.at, decision_id)) AS outcome, argMax(reason, (d.at, decision_id)) AS reason,
    argMax(actor, (d.at, decision_id)) AS actor, argMax(evidence, (d.at, decision_id)) AS evidence,
    argMax(tuple(d.expires_at), (d.at, decision_id)).1 AS expires_at, max(d.at) AS at
FROM decisions AS d
WHERE kind = 'quarantine'
GROUP BY subject
HAVING outcome = 'quarantined'
ORDER BY subject
