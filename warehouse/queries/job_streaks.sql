-- Which jobs are broken or flaky on a branch, since which commit, and how often did they flip?
-- broken: the newest commits that ran it failed. first_bad is the first of them, last_good the last commit
-- before that passed; unknown commits between them did not run it.
-- @branch: the branch = main
-- @commits: how many of its newest commits count = 200
-- @streak: failures in a row that make a job broken = 1
WITH recent AS
(
    SELECT position, any(sha) AS sha, any(committed_at) AS committed_at
    FROM commits
    WHERE branch = {branch: String}
    GROUP BY position
    ORDER BY position DESC
    LIMIT {commits: UInt32}
),
attempts AS
(
    SELECT any(a.sha) AS sha, any(a.job_key) AS job_key, any(a.group_key) AS group_key,
        argMax(state, version) AS state, argMax(soft_failed, version) AS soft
    FROM job_attempts AS a
    WHERE branch = {branch: String}
        AND created_at >= (SELECT min(committed_at) - INTERVAL 1 DAY FROM recent)
        AND a.sha IN (SELECT sha FROM recent)
    GROUP BY job_id
    HAVING state IN ('passed', 'failed', 'timed_out', 'expired')
),
commits_of_jobs AS
(
    SELECT
        job_key, r.position AS position, any(r.sha) AS sha, any(group_key) AS group_key,
        max(state = 'passed' OR soft) AS good, max(state != 'passed' AND NOT soft) AS bad
    FROM attempts
    INNER JOIN recent AS r USING (sha)
    GROUP BY job_key, position
),
histories AS
(
    SELECT
        job_key, any(group_key) AS group_key, arraySort(x -> x.1, groupArray((position, sha, good, bad))) AS history,
        arrayFilter(x -> x.4 AND NOT x.3, history) AS reds, arrayFilter(x -> x.3, history) AS greens,
        if(empty(greens), 0, greens[-1].1) AS last_good_position,
        arrayFilter(x -> x.1 > last_good_position, reds) AS streak
    FROM commits_of_jobs
    GROUP BY job_key
)
SELECT
    job_key, group_key,
    if(length(streak) >= {streak: UInt32}, 'broken', 'flaky') AS state,
    length(streak) AS failures_in_a_row,
    if(empty(streak), NULL, streak[1].1) AS first_bad_position,
    if(empty(streak), '', streak[1].2) AS first_bad,
    if(last_good_position = 0, NULL, last_good_position) AS last_good_position,
    if(empty(greens), '', greens[-1].2) AS last_good,
    if(empty(streak) OR last_good_position = 0, NULL, streak[1].1 - last_good_position - 1) AS unknown_between,
    arrayCount((x, y) -> (x.3 != y.3), arrayPopBack(history), arrayPopFront(history)) AS flips,
    arrayCount(x -> x.3 AND x.4, history) AS flaky_commits,
    length(reds) AS failed_commits,
    length(history) AS commits
FROM histories
WHERE length(streak) >= {streak: UInt32} OR flaky_commits > 0
ORDER BY state, failures_in_a_row DESC, flaky_commits DESC, job_key
