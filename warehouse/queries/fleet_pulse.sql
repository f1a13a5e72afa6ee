-- How old is the newest thing that any job did, and for how long was the fleet silent at most in the last weeks?
-- Whole hours without a job count as silence; NULL where there is no job at all.
-- @ago_s: as it was so many seconds ago = 0
-- @days: how many days back = 14
WITH now64(3) - toIntervalSecond({ago_s: UInt32}) AS moment
SELECT
    newest, if(newest IS NULL, NULL, dateDiff('second', newest, moment)) AS age_s, days_seen,
    arrayMax(arrayConcat([0], arrayMap((a, b) -> b - a - 1, arrayPopBack(hours), arrayPopFront(hours)))) AS silent_hours
FROM
(
    SELECT
        maxOrNull(least(event, moment)) AS newest, uniqExact(toDate(event)) AS days_seen,
        arraySort(groupUniqArray(toUnixTimestamp(event) DIV 3600)) AS hours
    FROM
    (
        SELECT arrayJoin([created_at, ifNull(finished_at, created_at)]) AS event
        FROM job_attempts
        WHERE created_at > moment - toIntervalDay({days: UInt16}) AND created_at <= moment
    )
    WHERE event <= moment
)
