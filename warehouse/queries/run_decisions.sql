-- The latest decision on each subject of one run, with its reason and evidence.
-- @run_id: the run
SELECT
    kind, subject,
    argMax(outcome, at) AS outcome,
    argMax(blocking, at) AS blocking,
    argMax(reason, at) AS reason,
    argMax(evidence, at) AS evidence,
    argMax(actor, at) AS actor,
    argMax(tuple(expires_at), at).1 AS expires_at,
    max(at) AS decided_at
FROM decisions
WHERE run_id = {run_id: String}
GROUP BY kind, subject
ORDER BY kind, subject
