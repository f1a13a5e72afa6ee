-- The newest verdict about each subject of some runs.
-- @run_ids: the runs, with commas
SELECT
    run_id, subject, argMax(outcome, at) AS outcome, argMax(blocking, at) AS blocking, argMax(reason, at) AS reason,
    argMax(evidence, at) AS evidence
FROM decisions
WHERE kind = 'verdict' AND run_id IN (SELECT arrayJoin(splitByChar(',', {run_ids: String})))
GROUP BY run_id, subject
ORDER BY run_id, subject
