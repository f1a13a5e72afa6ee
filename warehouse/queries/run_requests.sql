-- Latencies of every request of one run and workload, for distributions.
-- @run_id: the run
-- @workload: name of the workload
SELECT side, pair, request_index, status, error, prompt_tokens, cached_tokens, output_tokens, ttft_ms, tpot_ms, e2e_ms
FROM requests
WHERE run_id = {run_id: String} AND workload = {workload: String}
ORDER BY pair, side, request_index
LIMIT 1 BY side, pair, request_index
