-- Where do commits stand in the merge order of a branch? Those that are not of it are left out.
-- @commits: whole commit ids, with commas
-- @branch: the branch = main
SELECT sha, argMax(repository, version) AS repository, argMax(position, version) AS position
FROM commits
WHERE branch = {branch: String} AND sha IN (SELECT arrayJoin(splitByChar(',', {commits: String})))
GROUP BY sha
ORDER BY repository, position
