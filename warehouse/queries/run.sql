-- One run: what was asked, and how it ended.
-- @run_id: the run
SELECT
    run_id,
    argMax(recipe, version) AS recipe,
    argMax(recipe_definition, version) AS recipe_definition,
    argMax(engine_kind, version) AS engine_kind,
    argMax(status, version) AS status,
    argMax(reason, version) AS reason,
    any(seed) AS seed
FROM runs
WHERE run_id = {run_id: String}
GROUP BY run_id
