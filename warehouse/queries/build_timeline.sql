-- When did each job of one build come, begin and end? All attempts, in the order in which they could run.
-- Where no row tells when an attempt could run, it is taken to have been when it was made.
-- @build_id: UUID of the build
WITH
    (SELECT any(branch) FROM builds WHERE build_id = toUUIDOrNull({build_id: String})) AS its_branch,
    (SELECT min(created_at) FROM builds WHERE build_id = toUUIDOrNull({build_id: String})) AS its_start
SELECT
    toString(job_id) AS job_id, job_key, job_name, shard, attempt, state, soft_failed, queue, host, its_start AS build_created_at,
    coalesce(runnable_at, scheduled_at, created_at) AS could_run_at, started_at, finished_at, url
FROM job_attempts
WHERE branch = its_branch AND created_at >= its_start - INTERVAL 1 HOUR AND created_at < its_start + INTERVAL 30 DAY
    AND build_id = toUUIDOrNull({build_id: String})
ORDER BY version DESC
LIMIT 1 BY job_id
