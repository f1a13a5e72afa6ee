-- How did the tests that failed at a branch's newest commits fare in each attempt there?
-- Tests of the same jobs that run most often are told as well (sentinel): they show which attempts have a report at all.
-- @branch: the branch = main
-- @commits: how many of its newest commits count = 200
-- @tests: how many tests at most, the most recent failures first = 2000
WITH recent AS
(
    SELECT position, any(sha) AS sha, any(committed_at) AS committed_at
    FROM commits
    WHERE branch = {branch: String}
    GROUP BY position
    ORDER BY position DESC
    LIMIT {commits: UInt32}
),
attempts AS
(
    SELECT job_id, any(job_key) AS job_key
    FROM job_attempts
    WHERE branch = {branch: String}
        AND created_at >= (SELECT min(committed_at) - INTERVAL 1 DAY FROM recent)
        AND sha IN (SELECT sha FROM recent)
    GROUP BY job_id
),
failed AS
(
    SELECT d.test_id AS test_id, max(d.started_at) AS newest, groupUniqArray(a.job_key) AS job_keys
    FROM test_details AS d
    INNER JOIN attempts AS a ON d.job_id = a.job_id
    WHERE d.started_at >= (SELECT min(committed_at) - INTERVAL 1 DAY FROM recent) AND d.outcome IN ('failed', 'error')
    GROUP BY test_id
    ORDER BY newest DESC, test_id
    LIMIT {tests: UInt32}
),
sentinels AS
(
    SELECT arrayJoin(arraySlice(arraySort(x -> (-x.2, x.1), groupArray((test_id, runs))), 1, 3)).1 AS test_id
    FROM
    (
        SELECT test_id, job_key, sum(t.runs) AS runs
        FROM test_days AS t
        WHERE day >= (SELECT toDate(min(committed_at)) FROM recent)
            AND job_key IN (SELECT arrayJoin(job_keys) FROM failed)
        GROUP BY test_id, job_key
    )
    GROUP BY job_key
)
SELECT
    r.job_id AS job_id, if(f.test_id = 0, '', any(n.nodeid)) AS nodeid, f.test_id = 0 AS sentinel,
    max(r.outcome IN ('failed', 'error')) AS failed, max(r.outcome IN ('passed', 'xfailed')) AS passed
FROM
(
    SELECT test_id, job_id, outcome
    FROM test_results
    WHERE (test_id IN (SELECT test_id FROM failed) OR test_id IN (SELECT test_id FROM sentinels))
        AND started_at >= (SELECT min(committed_at) - INTERVAL 1 DAY FROM recent)
        AND branch = {branch: String} AND sha IN (SELECT sha FROM recent)
) AS r
INNER JOIN attempts AS a ON r.job_id = a.job_id
LEFT JOIN failed AS f ON r.test_id = f.test_id
LEFT JOIN (SELECT test_id, any(nodeid) AS nodeid FROM tests WHERE test_id IN (SELECT test_id FROM failed) GROUP BY test_id) AS n
    ON r.test_id = n.test_id
GROUP BY job_id, r.test_id, f.test_id
HAVING failed OR passed
