-- Which attempts failed, or passed with failed tests, and were not judged by a person or by this classifier?
-- @classifier: name of the classifier, with its version
-- @days: how many days back = 7
WITH ended AS
(
    SELECT
        job_id, any(a.sha) AS sha, any(a.branch) AS branch, any(a.created_at) AS created_at,
        argMax(state, version) AS state, argMax(soft_failed, version) AS soft_failed,
        argMax(exit_status, version) AS exit_status, argMax(signal, version) AS signal,
        argMax(signal_reason, version) AS signal_reason, argMax(finished_at, version) AS finished_at
    FROM job_attempts AS a
    WHERE a.created_at > now() - toIntervalDay({days: UInt16})
    GROUP BY job_id
),
-- A test that failed and passed in one attempt was run again: it did not fail.
reports AS
(
    SELECT job_id, arraySort(groupArray(20)(nodeid)) AS failed_tests
    FROM
    (
        SELECT job_id, test_id
        FROM test_results
        WHERE started_at > now() - toIntervalDay({days: UInt16} + 2) AND job_id IN (SELECT job_id FROM ended)
        GROUP BY job_id, test_id
        HAVING countIf(outcome IN ('failed', 'error')) > 0 AND countIf(outcome = 'passed') = 0
    ) AS r
    INNER JOIN (SELECT test_id, any(nodeid) AS nodeid FROM tests GROUP BY test_id) AS n USING (test_id)
    GROUP BY job_id
)
SELECT
    e.job_id AS job_id, e.sha AS sha, e.branch AS branch, e.state AS state, e.soft_failed AS soft_failed,
    e.exit_status AS exit_status, e.signal AS signal, e.signal_reason AS signal_reason, e.finished_at AS finished_at,
    l.location AS location, l.lines AS lines, l.tail AS tail, l.error_line_numbers AS error_line_numbers,
    l.error_lines AS error_lines, t.failed_tests AS failed_tests, f.version AS failure_version
FROM ended AS e
LEFT JOIN
(
    SELECT
        job_id, argMax(location, version) AS location, argMax(lines, version) AS lines, argMax(tail, version) AS tail,
        argMax(error_line_numbers, version) AS error_line_numbers, argMax(error_lines, version) AS error_lines
    FROM job_logs
    WHERE job_id IN (SELECT job_id FROM ended)
    GROUP BY job_id
) AS l USING (job_id)
LEFT JOIN reports AS t USING (job_id)
LEFT JOIN
(
    SELECT job_id, argMax(j.classifier, j.version) AS classifier, max(j.version) AS version
    FROM job_failures AS j
    WHERE job_id IN (SELECT job_id FROM ended)
    GROUP BY job_id
) AS f USING (job_id)
WHERE (e.state IN ('failed', 'timed_out', 'expired', 'broken') OR e.state = 'canceled' AND e.signal_reason != ''
        OR e.state = 'passed' AND notEmpty(t.failed_tests))
    AND (ifNull(f.classifier, '') = '' OR startsWith(f.classifier, 'gauntlet-') AND f.classifier != {classifier: String})
ORDER BY e.created_at, job_id
