-- How did one test fare, newest first, in merge order where the commit is of the branch?
-- @nodeid: the test's id
-- @branch: the branch = main
-- @limit: how many results = 500
SELECT
    c.position AS position, r.sha AS sha, r.started_at AS started_at, r.outcome AS outcome,
    r.occurrence AS occurrence, r.duration_ms AS duration_ms, r.job_key AS job_key, r.queue AS queue,
    r.job_id AS job_id, d.message AS message
FROM
(
    SELECT *
    FROM test_results
    WHERE test_id IN (SELECT test_id FROM tests WHERE nodeid = {nodeid: String})
        AND branch = {branch: String}
    ORDER BY started_at DESC, occurrence DESC
    LIMIT 1 BY test_id, job_id, occurrence
    LIMIT {limit: UInt32}
) AS r
LEFT JOIN (SELECT sha, any(position) AS position FROM commits WHERE branch = {branch: String} GROUP BY sha) AS c
    ON r.sha = c.sha
LEFT JOIN
(
    SELECT test_id, job_id, occurrence, any(message) AS message
    FROM test_details
    WHERE test_id IN (SELECT test_id FROM tests WHERE nodeid = {nodeid: String})
    GROUP BY test_id, job_id, occurrence
) AS d ON r.test_id = d.test_id AND r.job_id = d.job_id AND r.occurrence = d.occurrence
ORDER BY r.started_at DESC
SETTINGS join_use_nulls = 1
