-- How did one job fare, commit by commit and attempt by attempt, newest first?
-- @job_key: the job
-- @branch: the branch = main
-- @limit: how many attempts = 200
SELECT
    c.position AS position, a.sha AS sha, a.job_id AS job_id, a.build_number AS build_number, a.shard AS shard,
    a.attempt AS attempt, a.state AS state, a.soft_failed AS soft_failed, a.exit_status AS exit_status,
    a.signal_reason AS signal_reason, f.failure_class AS failure_class, f.signature AS signature,
    f.line AS line, a.queue AS queue, a.host AS host, a.runnable_at AS runnable_at, a.started_at AS started_at,
    a.finished_at AS finished_at, dateDiff('second', a.started_at, a.finished_at) / 60 AS minutes,
    minutes / 60 * p.usd_per_hour AS cost_usd, a.url AS url
FROM
(
    SELECT * FROM job_attempts
    WHERE branch = {branch: String} AND job_key = {job_key: String}
    ORDER BY created_at DESC, version DESC
    LIMIT 1 BY job_id
    LIMIT {limit: UInt32}
) AS a
LEFT JOIN (SELECT sha, any(position) AS position FROM commits WHERE branch = {branch: String} GROUP BY sha) AS c
    ON a.sha = c.sha
LEFT JOIN
(
    SELECT job_id, argMax(failure_class, version) AS failure_class, argMax(signature, version) AS signature,
        argMax(line, version) AS line
    FROM job_failures
    WHERE job_id IN (SELECT job_id FROM job_attempts WHERE branch = {branch: String} AND job_key = {job_key: String})
    GROUP BY job_id
) AS f ON a.job_id = f.job_id
LEFT JOIN (SELECT queue, argMax(usd_per_hour, (valid_from, version)) AS usd_per_hour FROM queue_prices GROUP BY queue) AS p
    ON a.queue = p.queue
ORDER BY a.created_at DESC
SETTINGS join_use_nulls = 1
