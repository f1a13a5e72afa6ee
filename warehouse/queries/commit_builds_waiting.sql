-- Which builds of one commit wait for a person?
-- @sha: the commit
-- @pipeline: the pipeline = ci
SELECT number
FROM
(
    SELECT any(number) AS number, argMax(blocked, version) AS waits, argMax(state, version) AS newest
    FROM builds
    WHERE sha = {sha: String} AND pipeline = {pipeline: String}
    GROUP BY build_id
)
WHERE waits OR newest = 'blocked'
ORDER BY number
