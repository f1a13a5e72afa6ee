-- How are the latencies of the requests of some repetitions distributed? At most 200 points of each empirical distribution: `share`
-- of the requests took `value` milliseconds or less. Only valid repetitions count.
-- @run_id: all repetitions of this run, each side by itself =
-- @repetition_ids: or these repetitions, with commas =
SELECT recipe, workload, point, side, metric, requests, each.1 AS share, each.2 AS value
FROM
(
    SELECT
        p.recipe AS recipe, q.workload AS workload, p.point AS point, q.side AS side, q.metric AS metric,
        count() AS requests, arraySort(groupArray(q.value)) AS sorted, least(requests, 200) AS points,
        arrayJoin(arrayMap(k -> (intDiv(k * requests, points) / requests, sorted[intDiv(k * requests, points)]),
            range(1, points + 1))) AS each
    FROM
    (
        SELECT repetition_id, workload, side, latency.1 AS metric, assumeNotNull(latency.2) AS value
        FROM
        (
            SELECT repetition_id, workload, side,
                arrayJoin([('ttft_ms', ttft_ms), ('tpot_ms', tpot_ms), ('e2e_ms', e2e_ms)]) AS latency
            FROM requests
            WHERE run_id IN
                (
                    SELECT run_id FROM repetitions
                    WHERE run_id = {run_id: String} OR has(splitByChar(',', {repetition_ids: String}), repetition_id)
                )
            LIMIT 1 BY repetition_id, request_index, latency.1
        )
        WHERE isNotNull(latency.2)
    ) AS q
    INNER JOIN
    (
        SELECT repetition_id, any(recipe) AS recipe, any(point) AS point FROM repetitions
        WHERE kind = 'load' AND status = 'valid'
            AND (run_id = {run_id: String} OR has(splitByChar(',', {repetition_ids: String}), repetition_id))
        GROUP BY repetition_id
    ) AS p ON q.repetition_id = p.repetition_id
    GROUP BY recipe, workload, point, side, metric
)
ORDER BY recipe, workload, point, metric, side, share
