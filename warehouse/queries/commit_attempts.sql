-- What did every attempt at one commit end in, in all builds of a pipeline, whatever the branch? With the image that it recorded.
-- @sha: the commit
-- @pipeline: the pipeline = ci
WITH attempts AS
(
    SELECT
        job_id, any(a.job_key) AS job_key, any(a.group_key) AS group_key, any(a.shard) AS shard, any(a.queue) AS queue,
        argMax(a.state, version) AS state, argMax(a.soft_failed, version) AS soft_failed, argMax(a.url, version) AS url,
        any(a.build_number) AS build_number, argMax(coalesce(a.finished_at, a.started_at, a.created_at), version) AS at
    FROM job_attempts AS a
    WHERE a.sha = {sha: String} AND pipeline = {pipeline: String}
    GROUP BY job_id
)
SELECT
    a.job_id AS job_id, a.job_key AS job_key, a.group_key AS group_key, a.shard AS shard, a.queue AS queue, a.state AS state,
    a.soft_failed AS soft_failed, a.url AS url, a.build_number AS build_number, a.at AS at,
    ifNull(f.failure_class, '') AS failure_class, ifNull(e.image, '') AS image
FROM attempts AS a
LEFT JOIN
(
    SELECT job_id, argMax(failure_class, version) AS failure_class
    FROM job_failures
    WHERE job_id IN (SELECT job_id FROM attempts)
    GROUP BY job_id
) AS f ON a.job_id = f.job_id
LEFT JOIN
(
    SELECT job_id, argMax(version, at) AS image
    FROM environments
    WHERE kind = 'image' AND job_id IN (SELECT job_id FROM attempts)
    GROUP BY job_id
) AS e ON a.job_id = e.job_id
ORDER BY at, job_id
SETTINGS join_use_nulls = 1
