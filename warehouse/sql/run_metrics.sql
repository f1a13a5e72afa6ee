-- Every metric of the valid repetitions of one run, pair by pair.
SELECT
    m.workload AS workload, m.metric AS metric, m.statistic AS statistic, m.unit AS unit,
    m.direction AS direction, m.pair AS pair, m.side AS side, m.value AS value, m.n AS n
FROM metrics AS m
INNER JOIN
(
    SELECT repetition_id
    FROM repetitions
    WHERE run_id = {run_id: String} AND status = 'valid'
) AS r ON m.repetition_id = r.repetition_id
WHERE m.run_id = {run_id: String}
ORDER BY workload, metric, statistic, pair, side
