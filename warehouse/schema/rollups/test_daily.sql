-- One day of test results by test, job and queue. FINAL: a row that is there twice counts once.
-- flaky: commits on which the same test both passed and failed that day.
INSERT INTO test_daily
SELECT
    test_id, {day: Date} AS day, {generation: UInt32} AS generation, job_key, queue, on_main,
    sum(s.runs), sum(s.passed), sum(s.failed), sum(s.skipped), countIf(s.passed > 0 AND s.failed > 0),
    min(s.first_failed), max(s.last_failed), sum(s.duration_sum), sum(s.duration_n), max(s.duration_max)
FROM
(
    SELECT
        test_id, job_key, queue, branch IN ('main', 'master') AS on_main, sha,
        count() AS runs, countIf(outcome IN ('passed', 'xfailed')) AS passed,
        countIf(outcome IN ('failed', 'error')) AS failed, countIf(outcome = 'skipped') AS skipped,
        min(if(outcome IN ('failed', 'error'), started_at, NULL)) AS first_failed,
        max(if(outcome IN ('failed', 'error'), started_at, NULL)) AS last_failed,
        sum(toFloat64(ifNull(duration_ms, 0))) AS duration_sum, count(duration_ms) AS duration_n,
        max(duration_ms) AS duration_max
    FROM test_results FINAL
    WHERE toDate(started_at) = {day: Date}
    GROUP BY test_id, job_key, queue, on_main, sha
) AS s
GROUP BY test_id, job_key, queue, on_main
