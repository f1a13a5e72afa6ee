-- Which commit of a branch was built last, and whole? Where the next build's changes begin.
-- @pipeline: the pipeline = ci
-- @branch: the branch = main
SELECT sha, position, number, state, finished_at
FROM
(
    SELECT any(b.sha) AS sha, any(b.number) AS number, argMax(state, version) AS state,
        argMax(finished_at, version) AS finished_at
    FROM builds AS b
    WHERE pipeline = {pipeline: String} AND branch = {branch: String}
    GROUP BY build_id
) AS b
LEFT JOIN (SELECT sha, any(position) AS position FROM commits WHERE branch = {branch: String} GROUP BY sha) AS c USING (sha)
WHERE state IN ('passed', 'failed')
ORDER BY position DESC, number DESC
LIMIT 1
