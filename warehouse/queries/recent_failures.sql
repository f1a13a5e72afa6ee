-- Which attempts failed in the last hours, when, of which change, and why? A change is a pull request, else a commit.
-- took_s: NULL where it never began.
-- @ago_s: as it was so many seconds ago = 0
-- @hours: how many hours back = 8
WITH now64(3) - toIntervalSecond({ago_s: UInt32}) AS moment
SELECT
    queue, host, job_key, sha, branch, state, ended_at, took_s, url,
    f.failure_class AS failure_class, f.signature AS signature, f.line AS line,
    if(b.pull_request IS NULL, concat('commit ', sha), concat('#', toString(b.pull_request))) AS change
FROM
(
    SELECT
        job_id, build_id, queue, host, job_key, toString(sha) AS sha, branch, state, soft_failed, url,
        coalesce(finished_at, started_at, created_at) AS ended_at, dateDiff('millisecond', started_at, finished_at) / 1000 AS took_s
    FROM job_attempts
    WHERE created_at > moment - toIntervalHour({hours: UInt16}) - INTERVAL 1 DAY AND created_at <= moment
    ORDER BY version DESC
    LIMIT 1 BY job_id
) AS a
LEFT JOIN
(
    SELECT job_id, argMax(failure_class, version) AS failure_class, argMax(signature, version) AS signature, argMax(line, version) AS line
    FROM job_failures
    WHERE job_id IN
    (
        SELECT job_id FROM job_attempts
        WHERE created_at > moment - toIntervalHour({hours: UInt16}) - INTERVAL 1 DAY AND state NOT IN ('passed', 'skipped')
    )
    GROUP BY job_id
) AS f ON a.job_id = f.job_id
LEFT JOIN
(
    SELECT build_id, argMax(tuple(pull_request), version).1 AS pull_request
    FROM builds
    WHERE created_at > moment - INTERVAL 7 DAY
    GROUP BY build_id
) AS b ON a.build_id = b.build_id
WHERE state IN ('failed', 'timed_out', 'broken', 'expired') AND NOT soft_failed
    AND ended_at > moment - toIntervalHour({hours: UInt16}) AND ended_at <= moment
ORDER BY ended_at, job_key, sha
