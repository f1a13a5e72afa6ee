-- Who changed these files most, and last, on a branch?
-- @files: paths, one a line
-- @branch: the branch = main
-- @days: how many days back = 365
SELECT file, author, count() AS commits, max(committed_at) AS last_at
FROM
(
    SELECT author, committed_at, arrayJoin(arrayIntersect(paths, splitByChar('\n', {files: String}))) AS file
    FROM
    (
        SELECT author, committed_at, paths
        FROM commits
        WHERE branch = {branch: String} AND committed_at > now() - toIntervalDay({days: UInt16})
        ORDER BY version DESC
        LIMIT 1 BY repository, position
    )
)
GROUP BY file, author
ORDER BY file, commits DESC, last_at DESC, author
LIMIT 1 BY file
