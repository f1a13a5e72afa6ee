-- Which jobs were there in the builds of a commit?
-- @sha: the commit
-- @pipeline: the pipeline = ci
SELECT DISTINCT job_key
FROM job_attempts
WHERE sha = {sha: String} AND pipeline = {pipeline: String} AND job_key != ''
ORDER BY job_key
