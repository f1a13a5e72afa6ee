-- What did failed attempts of some classes fail of between two instants, by signature, the most frequent first?
-- @failure_classes: the classes, with commas
-- @since: the first instant that counts
-- @until: the first that does not
-- @limit: how many signatures = 50
SELECT
    f.failure_class AS failure_class, f.signature AS signature, count() AS attempts, any(f.line) AS line,
    groupUniqArray(20)(a.job_key) AS job_keys, groupUniqArray(20)(a.queue) AS queues, groupUniqArrayIf(20)(a.host, a.host != '') AS hosts,
    uniqExact(a.sha) AS commits, min(a.at) AS first_at, max(a.at) AS last_at, argMax(a.url, a.at) AS url
FROM
(
    SELECT job_id, argMax(failure_class, version) AS failure_class, argMax(signature, version) AS signature, argMax(line, version) AS line
    FROM job_failures
    GROUP BY job_id
    HAVING failure_class IN (SELECT arrayJoin(splitByChar(',', {failure_classes: String})))
) AS f
INNER JOIN
(
    SELECT job_id, any(x.job_key) AS job_key, any(x.queue) AS queue, argMax(x.host, version) AS host, any(x.sha) AS sha,
        argMax(x.url, version) AS url, argMax(coalesce(x.finished_at, x.created_at), version) AS at
    FROM job_attempts AS x
    WHERE x.created_at >= {since: DateTime64(3, 'UTC')} - INTERVAL 1 DAY AND x.created_at < {until: DateTime64(3, 'UTC')}
    GROUP BY job_id
    HAVING at >= {since: DateTime64(3, 'UTC')} AND at < {until: DateTime64(3, 'UTC')}
) AS a ON f.job_id = a.job_id
GROUP BY failure_class, signature
ORDER BY attempts DESC, failure_class, signature
LIMIT {limit: UInt32}
