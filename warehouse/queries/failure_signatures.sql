-- With which signature does each test, and each job, fail most often lately?
-- The signature is that of the whole attempt: where several tests fail in it, all have it.
-- @branch: the branch = main
-- @days: how many days back = 14
WITH signed AS
(
    SELECT a.job_id AS job_id, any(a.job_key) AS job_key, any(f.signature) AS signature
    FROM job_attempts AS a
    INNER JOIN
    (
        SELECT job_id, argMax(signature, version) AS signature
        FROM job_failures
        GROUP BY job_id
        HAVING signature != ''
    ) AS f ON a.job_id = f.job_id
    WHERE a.branch = {branch: String} AND a.created_at > now() - toIntervalDay({days: UInt16})
    GROUP BY job_id
)
SELECT kind, name, signature, failures
FROM
(
    SELECT 'job' AS kind, job_key AS name, signature, count() AS failures
    FROM signed
    GROUP BY job_key, signature
    UNION ALL
    SELECT 'test' AS kind, any(n.nodeid) AS name, s.signature AS signature, uniqExact(d.job_id) AS failures
    FROM test_details AS d
    INNER JOIN signed AS s ON d.job_id = s.job_id
    INNER JOIN (SELECT test_id, any(nodeid) AS nodeid FROM tests GROUP BY test_id) AS n ON d.test_id = n.test_id
    WHERE d.started_at > now() - toIntervalDay({days: UInt16}) AND d.outcome IN ('failed', 'error')
    GROUP BY d.test_id, s.signature
)
ORDER BY failures DESC, signature, kind, name
LIMIT 1 BY kind, name
