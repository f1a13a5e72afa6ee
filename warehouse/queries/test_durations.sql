-- How long does each test take when it runs, by day, oldest first? What the planner of pipelines reads.
-- @days: how many days back = 14
SELECT t.nodeid AS nodeid, d.seconds AS seconds
FROM
(
    SELECT test_id, arrayMap(x -> x.2, arraySort(groupArray((day, duration_sum / duration_n / 1000)))) AS seconds
    FROM (SELECT test_id, day, sum(x.duration_sum) AS duration_sum, sum(x.duration_n) AS duration_n
        FROM test_days AS x WHERE day > today() - {days: UInt16} GROUP BY test_id, day HAVING duration_n > 0)
    GROUP BY test_id
) AS d
INNER JOIN (SELECT test_id, any(nodeid) AS nodeid FROM tests GROUP BY test_id) AS t USING (test_id)
ORDER BY nodeid
