-- Which tests are broken or flaky, and since when? Flaky ones by the share of commits on which they did both.
-- @days: how many days back = 7
-- @limit: how many tests = 200
SELECT
    t.nodeid AS nodeid, d.test_id AS test_id, runs, failed, flaky,
    multiIf(failed = runs - skipped, 'broken', flaky > 0, 'flaky', 'failing') AS state,
    failed / (runs - skipped) AS failure_rate,
    first_failed, last_failed, jobs, queues
FROM
(
    SELECT
        test_id, sum(x.runs) AS runs, sum(x.failed) AS failed, sum(x.skipped) AS skipped, sum(x.flaky) AS flaky,
        min(x.first_failed) AS first_failed, max(x.last_failed) AS last_failed,
        groupUniqArrayIf(5)(job_key, x.failed > 0) AS jobs, groupUniqArrayIf(5)(queue, x.failed > 0) AS queues
    FROM test_days AS x
    WHERE day > today() - {days: UInt16} AND test_id IN
    (
        SELECT test_id FROM test_details
        WHERE started_at > now() - toIntervalDay({days: UInt16} + 1) AND outcome IN ('failed', 'error')
    )
    GROUP BY test_id
    HAVING failed > 0
    ORDER BY flaky DESC, failed DESC
    LIMIT {limit: UInt32}
) AS d
LEFT JOIN (SELECT test_id, any(nodeid) AS nodeid FROM tests GROUP BY test_id) AS t USING (test_id)
ORDER BY flaky DESC, failed DESC, nodeid
