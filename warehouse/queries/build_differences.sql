-- What changed between two builds? Jobs whose state differs, and how many tests of them newly fail or pass.
-- @before: number of the earlier build
-- @after: number of the later build
-- @pipeline: the pipeline = ci
WITH jobs AS
(
    SELECT
        build_number, job_key, shard,
        multiIf(max(state = 'passed') AND max(state != 'passed'), 'flaky', max(state = 'passed'), 'passed', max(state)) AS state,
        groupArray(job_id) AS ids, max(run_s) AS run_s
    FROM
    (
        SELECT any(a.build_number) AS build_number, any(a.job_key) AS job_key, any(a.shard) AS shard, job_id,
            argMax(state, version) AS state, argMax(dateDiff('second', started_at, finished_at), version) AS run_s
        FROM job_attempts AS a
        WHERE a.pipeline = {pipeline: String} AND a.build_number IN ({before: UInt32}, {after: UInt32})
        GROUP BY job_id
    )
    GROUP BY build_number, job_key, shard
),
broken_tests AS
(
    SELECT job_id, groupArray(test_id) AS failing
    FROM test_details
    WHERE job_id IN (SELECT arrayJoin(ids) FROM jobs) AND outcome IN ('failed', 'error')
    GROUP BY job_id
),
sides AS
(
    SELECT
        j.job_key AS job_key, j.shard AS shard, j.build_number AS build_number, any(j.state) AS state,
        any(j.run_s) AS run_s, arrayDistinct(arrayFlatten(groupArray(b.failing))) AS failing
    FROM (SELECT *, arrayJoin(ids) AS job_id FROM jobs) AS j
    LEFT JOIN broken_tests AS b ON j.job_id = b.job_id
    GROUP BY job_key, shard, build_number
)
SELECT
    job_key, shard,
    anyIf(state, build_number = {before: UInt32}) AS state_before, anyIf(state, build_number = {after: UInt32}) AS state_after,
    if(state_before = '', 'not run', state_before) AS before, if(state_after = '', 'not run', state_after) AS after,
    anyIf(failing, build_number = {before: UInt32}) AS failing_before,
    anyIf(failing, build_number = {after: UInt32}) AS failing_after,
    length(arrayFilter(x -> NOT has(failing_before, x), failing_after)) AS newly_failing,
    length(arrayFilter(x -> NOT has(failing_after, x), failing_before)) AS fixed,
    anyIf(run_s, build_number = {before: UInt32}) AS run_s_before, anyIf(run_s, build_number = {after: UInt32}) AS run_s_after
FROM sides
GROUP BY job_key, shard
HAVING before != after OR newly_failing > 0 OR fixed > 0
ORDER BY after != 'passed' DESC, newly_failing DESC, job_key, shard
