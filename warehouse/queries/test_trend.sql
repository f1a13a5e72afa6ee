-- How often did one test run, fail and flake, and how long did it take, day by day?
-- @nodeid: the test's id
-- @days: how many days back = 60
SELECT
    day, sum(x.runs) AS runs, sum(x.failed) AS failed, sum(x.flaky) AS flaky,
    round(if(sum(x.duration_n) > 0, sum(x.duration_sum) / sum(x.duration_n), NULL), 3) AS mean_ms,
    max(x.duration_max) AS most_ms
FROM test_days AS x
WHERE test_id IN (SELECT test_id FROM tests WHERE nodeid = {nodeid: String}) AND day > today() - {days: UInt16}
GROUP BY day
ORDER BY day
