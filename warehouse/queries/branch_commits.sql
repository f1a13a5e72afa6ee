-- Which are the newest commits of a branch in merge order, oldest first, and what did each of them change?
-- @branch: the branch = main
-- @commits: how many = 200
SELECT position, sha, title, author, committed_at, pull_request, reverts, paths
FROM
(
    SELECT *
    FROM commits
    WHERE branch = {branch: String}
    ORDER BY position DESC, version DESC
    LIMIT 1 BY position
    LIMIT {commits: UInt32}
)
ORDER BY position
