-- What do the recipes of some runs say?
-- @run_ids: the runs, with commas
SELECT run_id, argMax(recipe_definition, version) AS recipe_definition
FROM runs
WHERE run_id IN (SELECT arrayJoin(splitByChar(',', {run_ids: String})))
GROUP BY run_id
ORDER BY run_id
