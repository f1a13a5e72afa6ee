-- How did the newest build of each of a branch's newest commits end? A commit that was not built has NULLs.
-- @branch: the branch = main
-- @commits: how many of its newest commits = 100
WITH recent AS
(
    SELECT position, sha
    FROM commits
    WHERE branch = {branch: String}
    ORDER BY position DESC, version DESC
    LIMIT 1 BY position
    LIMIT {commits: UInt32}
)
SELECT
    r.position AS position, r.sha AS sha, b.number AS build_number, b.state AS state, b.url AS url,
    b.created_at AS created_at, b.finished_at AS finished_at
FROM recent AS r
LEFT JOIN
(
    SELECT sha, argMax(b.number, (b.created_at, version)) AS number, argMax(b.state, (b.created_at, version)) AS state,
        argMax(b.url, (b.created_at, version)) AS url, max(b.created_at) AS created_at,
        argMax(tuple(b.finished_at), (b.created_at, version)).1 AS finished_at
    FROM builds AS b
    WHERE branch = {branch: String} AND sha IN (SELECT sha FROM recent)
    GROUP BY sha
) AS b USING (sha)
ORDER BY position DESC
SETTINGS join_use_nulls = 1
