-- Which builds of a branch were the last, how long did each take, and of how many jobs was it?
-- @branch: the branch = main
-- @limit: how many builds = 50
WITH recent AS
(
    SELECT *
    FROM builds
    WHERE branch = {branch: String}
        AND created_at > (SELECT max(created_at) FROM builds WHERE branch = {branch: String}) - INTERVAL 60 DAY
    ORDER BY created_at DESC, version DESC
    LIMIT 1 BY build_id
    LIMIT {limit: UInt32}
)
SELECT
    toString(r.build_id) AS build_id, r.pipeline AS pipeline, r.number AS number, r.sha AS sha, r.state AS state, r.message AS message,
    r.created_at AS created_at, dateDiff('second', r.created_at, r.finished_at) / 60 AS minutes, j.jobs AS jobs, j.attempts AS attempts
FROM recent AS r
LEFT JOIN
(
    SELECT build_id, uniqExact(tuple(job_key, shard)) AS jobs, uniqExact(job_id) AS attempts
    FROM job_attempts
    WHERE branch = {branch: String} AND created_at >= (SELECT min(created_at) - INTERVAL 1 HOUR FROM recent)
        AND build_id IN (SELECT build_id FROM recent)
    GROUP BY build_id
) AS j ON r.build_id = j.build_id
ORDER BY r.created_at DESC, number DESC
SETTINGS join_use_nulls = 1
