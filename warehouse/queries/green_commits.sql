-- Which share of a branch's commits ended green, by day of the merge? The newest ended build of a commit counts;
-- commits that were not built, or whose builds have not ended, are not counted.
-- @branch: the branch = main
-- @days: how many days back = 30
SELECT
    toDate(committed_at) AS day, count() AS commits, countIf(state = 'passed') AS green,
    round(green / commits, 4) AS share
FROM
(
    SELECT sha, argMax(state, created_at) AS state
    FROM
    (
        SELECT any(sha) AS sha, argMax(builds.state, version) AS state, any(builds.created_at) AS created_at
        FROM builds
        WHERE branch = {branch: String} AND toDate(builds.created_at) > today() - {days: UInt16}
        GROUP BY build_id
        HAVING state IN ('passed', 'failed')
    )
    GROUP BY sha
) AS b
INNER JOIN
(
    SELECT sha, argMax(committed_at, version) AS committed_at
    FROM commits
    WHERE branch = {branch: String}
    GROUP BY sha
) AS c USING (sha)
WHERE day > today() - {days: UInt16}
GROUP BY day
ORDER BY day
