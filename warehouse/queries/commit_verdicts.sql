-- What did comparisons of the last days say of each commit that they judged? The newest verdict on a subject counts.
-- @days: how many days back = 14
SELECT
    m.commit AS sha, d.subject AS subject, argMax(d.outcome, d.at) AS outcome, argMax(d.reason, d.at) AS reason,
    argMax(d.run_id, d.at) AS run_id, max(d.at) AS decided_at
FROM
(
    SELECT run_id, subject, outcome, reason, at
    FROM decisions
    WHERE kind = 'verdict' AND blocking AND run_id != '' AND at > now() - toIntervalDay({days: UInt16})
    ORDER BY at DESC, decision_id
    LIMIT 1 BY run_id, subject
) AS d
INNER JOIN
(
    SELECT DISTINCT run_id, assumeNotNull(engine_commit) AS commit
    FROM repetitions
    WHERE side != 'baseline' AND ifNull(engine_commit, '') != ''
        AND started_at > now() - toIntervalDay({days: UInt16} + 2)
) AS m ON d.run_id = m.run_id
GROUP BY sha, subject
ORDER BY sha, subject
