-- How long did each job run when it passed, oldest first? What the planner of pipelines reads.
-- @days: how many days back = 14
-- @most: how many durations of each job = 30
SELECT job_key, arrayMap(x -> x.2, arraySlice(arraySort(groupArray((finished, run_s))), -{most: UInt16})) AS seconds
FROM
(
    SELECT job_key, job_id, max(finished_at) AS finished, max(dateDiff('millisecond', started_at, finished_at)) / 1000 AS run_s
    FROM job_attempts
    WHERE created_at > now() - toIntervalDay({days: UInt16}) AND state = 'passed' AND finished_at IS NOT NULL
    GROUP BY job_key, job_id
)
GROUP BY job_key
ORDER BY job_key
