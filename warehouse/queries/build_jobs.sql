-- All attempts of all jobs of one build, in the order in which they ran.
-- @build: number of the build
-- @pipeline: the pipeline = ci
SELECT
    group_key, job_key, job_name, shard, attempt, state, soft_failed, exit_status, signal_reason, queue, host,
    created_at, runnable_at, started_at, finished_at, job_id, url
FROM job_attempts
WHERE pipeline = {pipeline: String} AND build_number = {build: UInt32}
ORDER BY version DESC
LIMIT 1 BY job_id
