-- Which attempts ended with an exit status that their log denies, newest first?
-- @days: how many days back = 30
SELECT
    f.job_id AS job_id, a.job_key AS job_key, a.build_number AS build_number, a.branch AS branch, a.sha AS sha,
    a.state AS state, a.exit_status AS exit_status, f.failure_class AS failure_class, f.signature AS signature,
    f.line_number AS line_number, f.line AS line, a.url AS url, a.created_at AS created_at
FROM
(
    SELECT
        job_id, argMax(failure_class, version) AS failure_class, argMax(signature, version) AS signature,
        argMax(line_number, version) AS line_number, argMax(line, version) AS line,
        argMax(wrong_exit_code, version) AS wrong
    FROM job_failures
    GROUP BY job_id
    HAVING wrong
) AS f
INNER JOIN
(
    SELECT
        job_id, any(j.job_key) AS job_key, any(j.build_number) AS build_number, any(j.branch) AS branch,
        any(j.sha) AS sha, argMax(state, version) AS state, argMax(exit_status, version) AS exit_status,
        argMax(url, version) AS url, any(j.created_at) AS created_at
    FROM job_attempts AS j
    WHERE j.created_at > now() - toIntervalDay({days: UInt16})
    GROUP BY job_id
) AS a USING (job_id)
ORDER BY created_at DESC, job_id
