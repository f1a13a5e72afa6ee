-- How did every run of the tests that failed lately end, in merge order, by test, job and queue?
-- Attempts that the machine, the network or the hub lost are left out: they say nothing of the test.
-- What failed in quarantine is reported as an expected failure, so that it does not block; here it failed.
-- @branch: the branch = main
-- @days: how many days back = 14
-- @limit: how many tests at most, those with the most failures first = 2000
-- @runs: how many runs of each history at most, the newest = 200
-- @nodeids: ids of tests, classes or files, one a line, whether they failed or not; empty for those that failed =
WITH excused AS
(
    SELECT test_id, job_id, occurrence
    FROM test_details
    WHERE started_at > now() - toIntervalDay({days: UInt16}) AND outcome = 'xfailed' AND startsWith(message, 'quarantined: ')
),
chosen AS
(
    SELECT test_id
    FROM test_results
    WHERE {nodeids: String} = '' AND started_at > now() - toIntervalDay({days: UInt16}) AND branch = {branch: String}
        AND (outcome IN ('failed', 'error') OR outcome = 'xfailed' AND (test_id, job_id, occurrence) IN (excused))
        AND test_id IN
        (
            SELECT test_id FROM test_details
            WHERE started_at > now() - toIntervalDay({days: UInt16})
                AND (outcome IN ('failed', 'error') OR outcome = 'xfailed' AND startsWith(message, 'quarantined: '))
        )
    GROUP BY test_id
    ORDER BY count() DESC, test_id
    LIMIT {limit: UInt32}
    UNION ALL
    SELECT test_id
    FROM tests
    WHERE {nodeids: String} != '' AND arrayExists(
        x -> nodeid = x OR startsWith(nodeid, concat(x, '::')) OR startsWith(nodeid, concat(x, '[')),
        splitByChar('\n', {nodeids: String}))
    GROUP BY test_id
),
lost AS
(
    SELECT job_id
    FROM job_failures
    GROUP BY job_id
    HAVING argMax(failure_class, version) IN
        ('infra_machine', 'infra_network', 'infra_capacity', 'infra_agent', 'upstream_hub', 'cancelled')
)
SELECT
    t.nodeid AS nodeid, t.file AS file, job_key, queue, runs, failures, last_at,
    history.1 AS positions, history.2 AS times, history.4 AS failed, history.5 AS shas, durations_ms
FROM
(
    SELECT
        test_id, job_key, queue, count() AS runs, countIf(bad) AS failures, max(at) AS last_at,
        arraySlice(arraySort(groupArray((position, at, occurrence, bad, sha))), -toInt32({runs: UInt32})) AS history,
        avg(duration_ms) AS durations_ms
    FROM
    (
        SELECT
            r.test_id AS test_id, r.job_key AS job_key, r.queue AS queue, r.started_at AS at, r.occurrence AS occurrence,
            r.outcome IN ('failed', 'error') OR r.outcome = 'xfailed' AND (r.test_id, r.job_id, r.occurrence) IN (excused) AS bad,
            r.duration_ms AS duration_ms, toString(r.sha) AS sha,
            toUInt32(ifNull(c.position, 0)) AS position
        FROM
        (
            SELECT test_id, job_id, occurrence, outcome, duration_ms, sha, job_key, queue, started_at
            FROM test_results
            WHERE test_id IN (chosen) AND branch = {branch: String} AND outcome != 'skipped'
                AND started_at > now() - toIntervalDay({days: UInt16}) AND job_id NOT IN (lost)
            LIMIT 1 BY test_id, job_id, occurrence
        ) AS r
        LEFT JOIN
        (
            SELECT sha, any(position) AS position FROM commits WHERE branch = {branch: String} GROUP BY sha
        ) AS c ON r.sha = c.sha
    )
    GROUP BY test_id, job_key, queue
    HAVING failures > 0 OR {nodeids: String} != ''
) AS h
INNER JOIN (SELECT test_id, any(nodeid) AS nodeid, any(file) AS file FROM tests GROUP BY test_id) AS t USING (test_id)
ORDER BY failures DESC, nodeid, job_key, queue
