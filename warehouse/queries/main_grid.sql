-- Is main healthy? Its newest commits by group: how many jobs of each state a commit has.
-- A job is folded over its attempts: passed and failed on one commit is flaky, failed for reasons
-- of the machines alone is infra, kept from running by a step before it is blocked.
-- @branch: the branch = main
-- @commits: how many of its newest commits = 100
WITH recent AS
(
    SELECT position, sha, title, author, committed_at, repository, pull_request
    FROM commits
    WHERE branch = {branch: String}
    ORDER BY position DESC, version DESC
    LIMIT 1 BY position
    LIMIT {commits: UInt32}
),
attempts AS
(
    SELECT
        any(a.sha) AS sha, any(a.group_key) AS group_key, any(a.job_key) AS job_key, any(a.shard) AS shard, job_id,
        argMax(state, version) AS state, argMax(soft_failed, version) AS soft
    FROM job_attempts AS a
    WHERE branch = {branch: String}
        AND created_at >= (SELECT min(committed_at) - INTERVAL 1 DAY FROM recent)
        AND a.sha IN (SELECT sha FROM recent)
    GROUP BY job_id
),
folded AS
(
    SELECT
        sha, group_key, job_key, shard,
        multiIf(
            countIf(state = 'passed') > 0 AND countIf(state IN ('failed', 'timed_out') AND NOT soft) > 0, 'flaky',
            countIf(state = 'passed' OR soft) > 0, 'passed',
            countIf(state IN ('failed', 'timed_out', 'expired')) > 0,
                if(minIf(startsWith(ifNull(f.failure_class, ''), 'infra_'), state IN ('failed', 'timed_out', 'expired')),
                    'infra', 'failed'),
            countIf(state IN ('canceled', 'skipped')) = count(), 'not run',
            countIf(state IN ('canceled', 'skipped', 'blocked', 'blocked_failed', 'waiting_failed', 'broken')) = count(),
                'blocked',
            'running') AS verdict
    FROM attempts
    LEFT JOIN
    (
        SELECT job_id, argMax(failure_class, version) AS failure_class
        FROM job_failures
        WHERE job_id IN (SELECT job_id FROM attempts WHERE state != 'passed')
        GROUP BY job_id
    ) AS f USING (job_id)
    GROUP BY sha, group_key, job_key, shard
)
SELECT
    r.position AS position, r.sha AS sha, r.title AS title, r.author AS author, r.committed_at AS committed_at,
    r.repository AS repository, r.pull_request AS pull_request, group_key, countIf(verdict = 'passed') AS passed, countIf(verdict = 'failed') AS failed,
    countIf(verdict = 'flaky') AS flaky, countIf(verdict = 'infra') AS infra,
    countIf(verdict = 'running') AS running, countIf(verdict = 'blocked') AS blocked, countIf(verdict = 'not run') AS not_run
FROM recent AS r
LEFT JOIN folded USING (sha)
GROUP BY position, sha, title, author, committed_at, repository, pull_request, group_key
ORDER BY position DESC, group_key
