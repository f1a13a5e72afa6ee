-- One day of job attempts by job and queue, each at its latest version.
INSERT INTO job_daily
SELECT
    {day: Date} AS day, {generation: UInt32} AS generation, pipeline, branch IN ('main', 'master') AS on_main, group_key,
    job_key, queue, count(), countIf(state = 'passed'),
    countIf(state IN ('failed', 'timed_out', 'broken', 'expired') AND NOT soft_failed),
    countIf(soft_failed), countIf(retried),
    sum(ifNull(dateDiff('millisecond', started_at, finished_at), 0)) / 1000,
    sum(ifNull(dateDiff('millisecond', runnable_at, started_at), 0)) / 1000,
    quantilesTDigestStateIf(0.5, 0.9, 0.99)(
        toFloat32(ifNull(dateDiff('millisecond', started_at, finished_at), 0) / 1000), state = 'passed'),
    quantilesTDigestStateIf(0.5, 0.9, 0.99)(
        toFloat32(ifNull(dateDiff('millisecond', runnable_at, started_at), 0) / 1000), started_at IS NOT NULL)
FROM job_attempts FINAL
WHERE toDate(created_at) = {day: Date}
GROUP BY pipeline, on_main, group_key, job_key, queue
