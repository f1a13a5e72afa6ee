-- Every load repetition of a run, an image, a commit or a version, in the order of their measuring.
-- An empty parameter restricts nothing.
-- @run_id: the run =
-- @image: whole digest of the image =
-- @commit: whole engine commit =
-- @version: engine version =
SELECT
    repetition_id, run_id, source, side, recipe, workload, point, model, ifNull(accelerator, '') AS accelerator, pair,
    position, status, reasons, config_fp, settings, host, ifNull(driver, '') AS driver,
    ifNull(engine_commit, '') AS engine_commit, ifNull(image_digest, '') AS image_digest, started_at, completed, failed
FROM repetitions
WHERE kind = 'load'
    AND ({run_id: String} = '' OR run_id = {run_id: String})
    AND ({image: String} = '' OR image_digest = {image: String})
    AND ({commit: String} = '' OR engine_commit = {commit: String})
    AND ({version: String} = '' OR engine_version = {version: String})
ORDER BY started_at, repetition_id
LIMIT 1 BY repetition_id
