-- When did each thing that a schedule starts begin, in the last weeks? Recipes that are measured, and scheduled builds.
-- Instants within ten minutes are one start; sides of comparisons are no part of it.
-- @ago_s: as it was so many seconds ago = 0
-- @days: how many days back = 22
WITH now64(3) - toIntervalSecond({ago_s: UInt32}) AS moment
SELECT name, kind, toStartOfInterval(began, INTERVAL 10 MINUTE) AS start
FROM
(
    SELECT concat('recipe ', recipe) AS name, 'recipe' AS kind, min(started_at) AS began
    FROM repetitions
    WHERE side = 'single' AND started_at > moment - toIntervalDay({days: UInt16}) AND started_at <= moment
    GROUP BY recipe, run_id
    UNION ALL
    SELECT concat(pipeline, if(branch = '', '', concat(' ', branch))) AS name, 'pipeline' AS kind, min(created_at) AS began
    FROM builds
    WHERE source = 'schedule' AND created_at > moment - toIntervalDay({days: UInt16}) AND created_at <= moment
    GROUP BY pipeline, branch, build_id
)
GROUP BY name, kind, start
ORDER BY name, kind, start
