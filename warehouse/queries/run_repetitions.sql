-- Every repetition of one run in the order in which it was measured.
-- @run_id: the run
SELECT
    repetition_id, side, workload, point, kind, pair, position, status, reasons, config_fp, engine_kind,
    engine_version, engine_commit, image_digest, accelerator, driver, model, host, client,
    client_version, dataset_digest, seed, started_at, ended_at, completed, failed, settings
FROM repetitions
WHERE run_id = {run_id: String}
ORDER BY started_at, repetition_id
LIMIT 1 BY repetition_id
