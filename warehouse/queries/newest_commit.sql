-- Which commit of a branch is the newest that is known?
-- @repository: the repository
-- @branch: the branch = main
SELECT sha, position, committed_at
FROM commits
WHERE repository = {repository: String} AND branch = {branch: String}
ORDER BY position DESC, version DESC
LIMIT 1
