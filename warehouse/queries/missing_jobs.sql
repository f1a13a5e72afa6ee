-- Which jobs did the last nightly build of a branch leave out that ran in nearly all nightly builds before it?
-- A nightly build is one that a schedule made.
-- @branch: the branch = main
-- @pipeline: the pipeline = ci
-- @builds: how many earlier ones count = 7
WITH nightly AS
(
    SELECT any(b.number) AS number, argMax(b.state, b.version) AS state, any(b.created_at) AS created,
        argMax(b.url, b.version) AS url
    FROM builds AS b
    WHERE pipeline = {pipeline: String} AND branch = {branch: String} AND source = 'schedule'
        AND created_at > now() - INTERVAL 30 DAY
    GROUP BY build_id
    HAVING state IN ('passed', 'failed')
    ORDER BY created DESC
    LIMIT {builds: UInt16} + 1
),
ran AS
(
    SELECT DISTINCT build_number, job_key, group_key
    FROM
    (
        SELECT any(a.build_number) AS build_number, any(a.job_key) AS job_key, any(a.group_key) AS group_key,
            argMax(a.started_at, a.version) AS started
        FROM job_attempts AS a
        WHERE a.pipeline = {pipeline: String} AND a.branch = {branch: String}
            AND a.build_number IN (SELECT number FROM nightly)
        GROUP BY job_id
        HAVING started IS NOT NULL
    )
)
SELECT
    job_key, any(group_key) AS group_key, uniqExact(build_number) AS earlier, max(build_number) AS last_build,
    (SELECT max(number) FROM nightly) AS build_number, (SELECT argMax(url, number) FROM nightly) AS url
FROM ran
GROUP BY job_key
HAVING last_build < build_number AND earlier >= 0.8 * ((SELECT count() FROM nightly) - 1) AND earlier >= 2
ORDER BY group_key, job_key
