-- Which failed attempts of a pipeline have no log yet, newest first?
-- @pipeline: the pipeline = ci
-- @days: how many days back = 2
-- @limit: how many = 300
SELECT job_id, any(a.build_id) AS build_id, any(a.build_number) AS build_number, argMax(a.state, a.version) AS state,
    max(a.created_at) AS created
FROM job_attempts AS a
WHERE a.pipeline = {pipeline: String} AND a.created_at > now() - toIntervalDay({days: UInt16})
    AND job_id NOT IN (SELECT job_id FROM job_logs)
GROUP BY job_id
HAVING state IN ('failed', 'timed_out')
ORDER BY created DESC, job_id
LIMIT {limit: UInt32}
