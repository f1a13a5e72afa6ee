-- Which jobs of two builds failed or were flaky in either? One row per job, folded over attempts and shards; a soft failure
-- is no failure, and what failed for reasons of its machines alone is infra.
-- @before: number of the earlier build
-- @after: number of the later build
-- @pipeline: the pipeline = ci
WITH attempts AS
(
    SELECT
        job_id, any(a.build_number) AS build_number, any(a.job_key) AS job_key, any(a.group_key) AS group_key,
        any(a.shard) AS shard, argMax(state, version) AS state, argMax(soft_failed, version) AS soft
    FROM job_attempts AS a
    WHERE a.pipeline = {pipeline: String} AND a.build_number IN ({before: UInt32}, {after: UInt32})
    GROUP BY job_id
),
shards AS
(
    SELECT
        build_number, job_key, shard, any(group_key) AS group_key,
        countIf(state = 'passed' OR soft) AS good,
        countIf(state IN ('failed', 'timed_out', 'expired') AND NOT soft) AS bad,
        countIf(state IN ('failed', 'timed_out', 'expired') AND NOT soft
            AND startsWith(ifNull(f.failure_class, ''), 'infra_')) AS infra,
        multiIf(good > 0 AND bad > 0, 'flaky', good > 0, 'passed', bad > 0, if(infra = bad, 'infra', 'failed'), 'not run')
            AS folded
    FROM attempts
    LEFT JOIN
    (
        SELECT job_id, argMax(failure_class, version) AS failure_class
        FROM job_failures WHERE job_id IN (SELECT job_id FROM attempts) GROUP BY job_id
    ) AS f USING (job_id)
    GROUP BY build_number, job_key, shard
),
jobs AS
(
    SELECT
        build_number, job_key, any(group_key) AS group_key,
        ['failed', 'infra', 'flaky', 'passed', 'not run'] AS worst_first,
        worst_first[min(indexOf(worst_first, folded))] AS job_state
    FROM shards
    GROUP BY build_number, job_key
)
SELECT
    job_key, any(group_key) AS group_key,
    if(countIf(build_number = {before: UInt32}) = 0, 'not run', anyIf(job_state, build_number = {before: UInt32})) AS before,
    if(countIf(build_number = {after: UInt32}) = 0, 'not run', anyIf(job_state, build_number = {after: UInt32})) AS after
FROM jobs
GROUP BY job_key
HAVING before IN ('failed', 'infra', 'flaky') OR after IN ('failed', 'infra', 'flaky')
ORDER BY group_key, job_key
