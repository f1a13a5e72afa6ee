-- First failure, last success and flip count of one test on a branch, in merge order, by queue.
-- @nodeid: the test's id
-- @branch: the branch = main
SELECT
    queue, length(history) AS commits,
    arrayCount((x, y) -> (x.3 != y.3), arrayPopBack(history), arrayPopFront(history)) AS flips,
    arrayFirst(x -> x.4, history) AS first_failure_, arrayLast(x -> x.3, history) AS last_success_,
    if(first_failure_.1 = 0, NULL, first_failure_.1) AS first_failure_position,
    first_failure_.2 AS first_failure, if(last_success_.1 = 0, NULL, last_success_.1) AS last_success_position,
    last_success_.2 AS last_success,
    arrayFirst(x -> x.4 AND x.1 > last_success_.1, history).2 AS failing_since,
    arrayCount(x -> x.3 AND x.4, history) AS flaky_commits
FROM
(
    SELECT queue, arraySort(x -> x.1, groupArray((position, sha, good, bad))) AS history
    FROM
    (
        SELECT r.queue AS queue, c.position AS position, any(r.sha) AS sha,
            max(r.outcome IN ('passed', 'xfailed')) AS good, max(r.outcome IN ('failed', 'error')) AS bad
        FROM test_results AS r
        INNER JOIN (SELECT sha, any(position) AS position FROM commits WHERE branch = {branch: String} GROUP BY sha) AS c
            ON r.sha = c.sha
        WHERE r.test_id IN (SELECT test_id FROM tests WHERE nodeid = {nodeid: String})
            AND r.branch = {branch: String} AND r.outcome != 'skipped'
        GROUP BY queue, position
    )
    GROUP BY queue
)
ORDER BY queue
