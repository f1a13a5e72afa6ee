-- What happened to the jobs of one group at one commit, attempt by attempt?
-- @sha: the commit, or how its id begins
-- @group_key: the group
-- @branch: the branch = main
WITH attempts AS
(
    SELECT * FROM job_attempts
    WHERE branch = {branch: String} AND group_key = {group_key: String} AND startsWith(sha, {sha: String})
        AND created_at >= (SELECT min(committed_at) - INTERVAL 1 DAY FROM commits
            WHERE branch = {branch: String} AND startsWith(sha, {sha: String}))
    ORDER BY version DESC
    LIMIT 1 BY job_id
)
SELECT
    a.sha AS sha, (SELECT any(position) FROM commits WHERE branch = {branch: String} AND startsWith(sha, {sha: String})) AS position,
    a.job_key AS job_key, a.shard AS shard, a.attempt AS attempt, a.state AS state, a.soft_failed AS soft_failed,
    f.failure_class AS failure_class, f.line AS line, a.exit_status AS exit_status, a.signal_reason AS signal_reason,
    a.queue AS queue, a.host AS host, dateDiff('second', a.started_at, a.finished_at) / 60 AS minutes,
    a.started_at AS started_at, a.pipeline AS pipeline, a.build_number AS build_number, a.url AS url
FROM attempts AS a
LEFT JOIN
(
    SELECT job_id, argMax(failure_class, version) AS failure_class, argMax(line, version) AS line
    FROM job_failures
    WHERE job_id IN (SELECT job_id FROM attempts WHERE state != 'passed')
    GROUP BY job_id
) AS f ON a.job_id = f.job_id
ORDER BY job_key, shard, a.created_at, attempt
SETTINGS join_use_nulls = 1
