-- Which build of a branch was the last that had ended when a night was over, and which one night before? A night is over at
-- the end of its UTC day.
-- @night: the night
-- @branch: the branch = main
-- @pipeline: the pipeline = ci
SELECT
    if(b.finished < toDateTime({night: Date}, 'UTC'), 'before', 'after') AS which,
    argMax(b.number, (b.finished, b.number)) AS number, argMax(b.sha, (b.finished, b.number)) AS sha,
    argMax(b.state, (b.finished, b.number)) AS state, argMax(b.url, (b.finished, b.number)) AS url,
    max(b.finished) AS finished_at, count() AS builds
FROM
(
    SELECT
        any(x.number) AS number, any(x.sha) AS sha, argMax(x.state, version) AS state, argMax(x.url, version) AS url,
        argMax(x.finished_at, version) AS finished
    FROM builds AS x
    WHERE pipeline = {pipeline: String} AND branch = {branch: String}
        AND created_at >= toDateTime({night: Date} - 7, 'UTC') AND created_at < toDateTime({night: Date} + 1, 'UTC')
    GROUP BY build_id
    HAVING state IN ('passed', 'failed') AND finished < toDateTime({night: Date} + 1, 'UTC')
) AS b
GROUP BY which
