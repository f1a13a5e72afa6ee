-- Which runs measured a commit as the candidate, and what did they measure it against? One row per run.
-- @sha: the commit
SELECT
    r.run_id AS run_id, argMax(r.recipe, r.version) AS recipe, argMax(r.status, r.version) AS status, min(r.started_at) AS started_at,
    any(m.accelerator) AS accelerator, any(m.commits) AS commits, any(m.images) AS images,
    any(m.baseline_commits) AS baseline_commits, any(m.hours) AS hours
FROM runs AS r
INNER JOIN
(
    SELECT
        run_id, anyIf(ifNull(accelerator, ''), side = 'candidate') AS accelerator,
        groupUniqArrayIf(ifNull(engine_commit, ''), side = 'candidate') AS commits,
        groupUniqArrayIf(ifNull(image_digest, ''), side = 'candidate') AS images,
        groupUniqArrayIf(ifNull(engine_commit, ''), side = 'baseline') AS baseline_commits,
        sumIf(date_diff('millisecond', started_at, ended_at), side = 'candidate' AND kind = 'load' AND status = 'valid') / 3600000 AS hours
    FROM (SELECT * FROM repetitions WHERE run_id IN (SELECT run_id FROM repetitions WHERE engine_commit = {sha: String}) LIMIT 1 BY repetition_id)
    GROUP BY run_id
    HAVING has(commits, {sha: String})
) AS m ON r.run_id = m.run_id
GROUP BY r.run_id
ORDER BY started_at, run_id
