-- What became of the reverts that the bot decided? By the newest outcome of each, and by how far it might act.
-- @days: how many days back = 30
SELECT outcome, mode, count() AS reverts, max(at) AS newest
FROM
(
    SELECT subject, argMax(d.outcome, (d.at, d.decision_id)) AS outcome, argMax(d.mode, (d.at, d.decision_id)) AS mode, max(d.at) AS at
    FROM decisions AS d
    WHERE kind = 'revert' AND d.at > now() - toIntervalDay({days: UInt16})
    GROUP BY subject
)
GROUP BY outcome, mode
ORDER BY reverts DESC, outcome, mode
