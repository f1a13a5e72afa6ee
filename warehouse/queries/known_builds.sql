-- Which builds were measured under load, newest first?
-- @limit: how many = 10000
SELECT
    ifNull(image_digest, '') AS image_digest, ifNull(engine_commit, '') AS engine_commit,
    ifNull(engine_version, '') AS engine_version, uniqExact(repetition_id) AS repetitions,
    uniqExact(run_id) AS runs, max(started_at) AS last_measured
FROM repetitions
WHERE kind = 'load'
GROUP BY image_digest, engine_commit, engine_version
ORDER BY last_measured DESC, image_digest, engine_commit, engine_version
LIMIT {limit: UInt32}
