-- One day of test results by test, job and queue. FINAL: a row that is there twice counts once.
-- flaky: commits on which the same test both passed and failed that day; looked for among the tests that
-- failed at all, which are few: grouping every result by its commit takes twenty times as long.
INSERT INTO test_daily
SELECT
    r.test_id, {day: Date} AS day, {generation: UInt32} AS generation, r.job_key, r.queue, r.on_main,
    r.runs, r.passed, r.failed, r.skipped, f.flaky, r.first_failed, r.last_failed, r.duration_sum, r.duration_n,
    r.duration_max
FROM
(
    SELECT
        test_id, job_key, queue, branch IN ('main', 'master') AS on_main,
        count() AS runs, countIf(outcome IN ('passed', 'xfailed')) AS passed,
        countIf(outcome IN ('failed', 'error')) AS failed, countIf(outcome = 'skipped') AS skipped,
        min(if(outcome IN ('failed', 'error'), started_at, NULL)) AS first_failed,
        max(if(outcome IN ('failed', 'error'), started_at, NULL)) AS last_failed,
        sum(toFloat64(ifNull(duration_ms, 0))) AS duration_sum, count(duration_ms) AS duration_n,
        max(duration_ms) AS duration_max
    FROM test_results FINAL
    WHERE toDate(started_at) = {day: Date}
    GROUP BY test_id, job_key, queue, on_main
) AS r
LEFT JOIN
(
    SELECT test_id, job_key, queue, on_main, count() AS flaky
    FROM
    (
        SELECT test_id, job_key, queue, branch IN ('main', 'master') AS on_main, sha
        FROM test_results
        WHERE toDate(started_at) = {day: Date} AND test_id IN
        (
            SELECT test_id FROM test_results
            WHERE toDate(started_at) = {day: Date} AND outcome IN ('failed', 'error')
        )
        GROUP BY test_id, job_key, queue, on_main, sha
        HAVING countIf(outcome IN ('passed', 'xfailed')) > 0 AND countIf(outcome IN ('failed', 'error')) > 0
    )
    GROUP BY test_id, job_key, queue, on_main
) AS f ON r.test_id = f.test_id AND r.job_key = f.job_key AND r.queue = f.queue AND r.on_main = f.on_main
