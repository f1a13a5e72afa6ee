-- Which incidents are open, newest first? The newest word about an incident counts.
-- evidence: failure_class, signature, jobs, first_bad, last_good, culprit, revert_url (JSON).
-- @days: how many days back an incident may have been spoken of = 90
SELECT
    subject, argMax(outcome, (d.at, decision_id)) AS outcome, argMax(reason, (d.at, decision_id)) AS reason,
    argMax(evidence, (d.at, decision_id)) AS evidence, argMax(actor, (d.at, decision_id)) AS actor,
    min(d.at) AS opened_at, max(d.at) AS updated_at
FROM decisions AS d
WHERE kind = 'incident' AND d.at > now() - toIntervalDay({days: UInt16})
GROUP BY subject
HAVING outcome = 'open'
ORDER BY opened_at DESC, subject
