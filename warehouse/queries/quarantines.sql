-- Which tests and jobs are in quarantine now? The newest word about a subject counts; one that has expired is over.
SELECT
    subject, argMax(outcome, (d.at, decision_id)) AS outcome, argMax(reason, (d.at, decision_id)) AS reason,
    argMax(actor, (d.at, decision_id)) AS actor, argMax(evidence, (d.at, decision_id)) AS evidence,
    argMax(tuple(d.expires_at), (d.at, decision_id)).1 AS expires_at, max(d.at) AS at
FROM decisions AS d
WHERE kind = 'quarantine'
GROUP BY subject
HAVING outcome = 'quarantined' AND (expires_at IS NULL OR expires_at > now64(3))
ORDER BY subject
