-- Which builds did a branch have in the last days, and where does the commit of each stand? Newest first.
-- position: NULL where the branch's merge order does not have the commit. newest_position: of the branch.
-- @pipeline: the pipeline = ci
-- @branch: the branch = main
-- @days: how many days back = 14
SELECT
    toString(b.build_id) AS build_id, number, b.sha AS sha, state, url, created_at, finished_at,
    c.position AS position, c.title AS title,
    (SELECT max(position) FROM commits WHERE branch = {branch: String}) AS newest_position
FROM
(
    SELECT build_id, number, toString(sha) AS sha, state, url, created_at, finished_at
    FROM builds
    WHERE pipeline = {pipeline: String} AND branch = {branch: String} AND created_at > now() - toIntervalDay({days: UInt16})
    ORDER BY version DESC
    LIMIT 1 BY build_id
) AS b
LEFT JOIN
(
    SELECT toString(sha) AS sha, toNullable(argMax(position, version)) AS position, argMax(title, version) AS title
    FROM commits
    WHERE branch = {branch: String}
    GROUP BY sha
) AS c ON b.sha = c.sha
ORDER BY created_at DESC, number DESC
SETTINGS join_use_nulls = 1
