-- How did the jobs of a branch's builds of the last days end, by all their attempts in order?
-- attempts: state, whether it failed softly, and its failure class, empty where nobody said.
-- failed_tests: those that failed in the job and passed in none of its attempts, twenty at most.
-- @pipeline: the pipeline = ci
-- @branch: the branch = main
-- @days: how many days back a build may have begun = 14
WITH recent AS
(
    SELECT DISTINCT build_id FROM builds
    WHERE pipeline = {pipeline: String} AND branch = {branch: String} AND created_at > now() - toIntervalDay({days: UInt16})
),
attempts AS
(
    SELECT build_id, job_key, shard, job_id, attempt, a.created_at AS created_at, state, soft_failed
    FROM job_attempts AS a
    WHERE pipeline = {pipeline: String} AND branch = {branch: String}
        AND a.created_at > now() - toIntervalDay({days: UInt16} + 1) AND build_id IN (SELECT build_id FROM recent)
    ORDER BY version DESC
    LIMIT 1 BY job_id
),
tests_failed AS
(
    SELECT build_id, job_key, shard, arraySort(groupArray(20)(nodeid)) AS failed_tests
    FROM
    (
        SELECT build_id, job_key, shard, test_id
        FROM test_results AS r
        INNER JOIN attempts AS a ON r.job_id = a.job_id
        WHERE r.started_at > now() - toIntervalDay({days: UInt16} + 2)
            AND r.job_id IN (SELECT job_id FROM attempts WHERE state NOT IN ('skipped', 'canceled'))
        GROUP BY build_id, job_key, shard, test_id
        HAVING countIf(outcome IN ('failed', 'error')) > 0 AND countIf(outcome = 'passed') = 0
    ) AS r
    INNER JOIN (SELECT test_id, any(nodeid) AS nodeid FROM tests GROUP BY test_id) AS n USING (test_id)
    GROUP BY build_id, job_key, shard
),
folded AS
(
    SELECT
        build_id, job_key, shard,
        arrayMap(row -> (row.3, row.4, row.5),
            arraySort(groupArray((attempt, created_at, state, soft_failed, ifNull(f.failure_class, ''))))) AS attempts
    FROM attempts
    LEFT JOIN
    (
        SELECT job_id, argMax(failure_class, version) AS failure_class
        FROM job_failures
        WHERE job_id IN (SELECT job_id FROM attempts)
        GROUP BY job_id
    ) AS f USING (job_id)
    GROUP BY build_id, job_key, shard
)
SELECT toString(j.build_id) AS build_id, j.job_key AS job_key, j.shard AS shard, j.attempts AS attempts, t.failed_tests AS failed_tests
FROM folded AS j
LEFT JOIN tests_failed AS t ON j.build_id = t.build_id AND j.job_key = t.job_key AND ifNull(j.shard, -1) = ifNull(t.shard, -1)
ORDER BY build_id, job_key, shard
