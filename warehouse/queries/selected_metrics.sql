-- Every metric of the load repetitions of a run, an image, a commit or a version.
-- An empty parameter restricts nothing.
-- @run_id: the run =
-- @image: whole digest of the image =
-- @commit: whole engine commit =
-- @version: engine version =
-- @window: full or steady = full
SELECT repetition_id, metric, statistic, any(value) AS value
FROM metrics
WHERE `window` = {window: String} AND repetition_id IN
(
    SELECT repetition_id
    FROM repetitions
    WHERE kind = 'load'
        AND ({run_id: String} = '' OR run_id = {run_id: String})
        AND ({image: String} = '' OR image_digest = {image: String})
        AND ({commit: String} = '' OR engine_commit = {commit: String})
        AND ({version: String} = '' OR engine_version = {version: String})
)
GROUP BY repetition_id, metric, statistic
ORDER BY repetition_id, metric, statistic
