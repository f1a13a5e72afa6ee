-- Which candidates were decided on, what said their gates, and what were they made of? Newest first.
-- A gate's state is its newest one; waivers are those that hold now.
-- @limit: how many = 50
WITH decided AS
(
    SELECT run_id, subject AS policy, outcome, reason, evidence, at
    FROM decisions
    WHERE kind = 'release' AND run_id != ''
    ORDER BY at DESC, decision_id
    LIMIT 1 BY run_id
    LIMIT {limit: UInt32}
),
gates AS
(
    SELECT run_id, groupArray(subject) AS gates, groupArray(outcome) AS states
    FROM
    (
        SELECT run_id, subject, argMax(outcome, at) AS outcome
        FROM decisions
        WHERE kind = 'gate' AND run_id IN (SELECT run_id FROM decided)
        GROUP BY run_id, subject
        ORDER BY subject
    )
    GROUP BY run_id
),
waivers AS
(
    SELECT run_id, groupArray(subject) AS waived
    FROM
    (
        SELECT run_id, subject, argMax(outcome, at) AS outcome, argMax(tuple(expires_at), at).1 AS expires_at
        FROM decisions
        WHERE kind = 'waiver' AND run_id IN (SELECT run_id FROM decided)
        GROUP BY run_id, subject
    )
    WHERE outcome = 'waived' AND (expires_at IS NULL OR expires_at > now())
    GROUP BY run_id
),
measured AS
(
    SELECT
        run_id, anyLast(engine_version) AS version, anyLast(engine_commit) AS commit,
        anyLast(image_digest) AS image_digest, count() AS repetitions
    FROM repetitions
    WHERE side != 'baseline' AND run_id IN (SELECT run_id FROM decided)
    GROUP BY run_id
)
SELECT
    d.run_id AS run_id, d.outcome AS outcome, d.reason AS reason, d.policy AS policy, d.at AS at,
    d.evidence AS evidence, g.gates AS gates, g.states AS states, w.waived AS waived,
    m.version AS version, m.commit AS commit, m.image_digest AS image_digest, m.repetitions AS repetitions
FROM decided AS d
LEFT JOIN gates AS g ON g.run_id = d.run_id
LEFT JOIN waivers AS w ON w.run_id = d.run_id
LEFT JOIN measured AS m ON m.run_id = d.run_id
ORDER BY at DESC, run_id
SETTINGS join_use_nulls = 0
