-- Which runs are there, newest first, and how did they end?
-- @limit: how many = 100
SELECT
    run_id,
    argMax(recipe, version) AS recipe,
    argMax(engine_kind, version) AS engine_kind,
    argMax(status, version) AS status,
    argMax(reason, version) AS reason,
    any(host) AS host,
    any(seed) AS seed,
    any(gauntlet_version) AS gauntlet_version,
    min(started_at) AS started_at,
    max(updated_at) AS updated_at
FROM runs
GROUP BY run_id
ORDER BY started_at DESC, run_id DESC
LIMIT {limit: UInt32}
