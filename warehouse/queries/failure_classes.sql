-- How many attempts failed by class, how many of them with a wrong exit status, and on how many signatures?
-- @days: how many days back = 30
-- @branch: the branch, or empty for all =
SELECT
    f.failure_class AS failure_class, count() AS attempts, uniqExact(f.signature) AS signatures,
    countIf(f.wrong) AS wrong_exit_codes
FROM
(
    SELECT
        job_id, argMax(failure_class, version) AS failure_class, argMax(signature, version) AS signature,
        argMax(wrong_exit_code, version) AS wrong
    FROM job_failures
    GROUP BY job_id
) AS f
WHERE job_id IN
(
    SELECT job_id
    FROM job_attempts
    WHERE created_at > now() - toIntervalDay({days: UInt16}) AND ({branch: String} = '' OR branch = {branch: String})
)
GROUP BY failure_class
ORDER BY attempts DESC, failure_class
