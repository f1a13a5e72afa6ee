-- Every metric of the valid repetitions of one run, pair by pair.
-- @run_id: the run
SELECT repetition_id, workload, metric, statistic, `window`, unit, direction, pair, side, value, n
FROM metrics
WHERE run_id = {run_id: String} AND repetition_id IN
(
    SELECT repetition_id
    FROM repetitions
    WHERE run_id = {run_id: String} AND status = 'valid'
)
ORDER BY workload, metric, statistic, `window`, pair, side
LIMIT 1 BY repetition_id, metric, statistic, `window`
