-- What did these attempts run with?
-- @job_ids: ids of job attempts, with commas
SELECT job_id, kind, name, argMax(e.version, e.at) AS version, argMax(tuple(e.released_at), e.at).1 AS released_at, max(e.at) AS at
FROM environments AS e
WHERE job_id IN (SELECT toUUIDOrZero(arrayJoin(splitByChar(',', {job_ids: String}))))
GROUP BY job_id, kind, name
ORDER BY job_id, kind, name
