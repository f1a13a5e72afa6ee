-- Which are the newest commits of a branch, newest first?
-- @branch: the branch = main
-- @limit: how many = 100
SELECT position, sha, title, author, committed_at, pull_request, reverts
FROM commits
WHERE branch = {branch: String}
ORDER BY position DESC, version DESC
LIMIT 1 BY position
LIMIT {limit: UInt32}
