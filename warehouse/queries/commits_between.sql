-- Which commits of a branch lie in a range of its merge order, newest first?
-- @after: position after which the range begins = 0
-- @upto: position at which it ends; 0 is the newest = 0
-- @branch: the branch = main
-- @limit: how many of the newest of them = 60
SELECT position, sha, title, author, committed_at, pull_request, repository
FROM commits
WHERE branch = {branch: String} AND position > {after: UInt32} AND ({upto: UInt32} = 0 OR position <= {upto: UInt32})
ORDER BY position DESC, version DESC
LIMIT 1 BY position
LIMIT {limit: UInt32}
