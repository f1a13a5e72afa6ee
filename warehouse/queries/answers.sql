-- Every answer of one repetition, or of the valid repetitions of one side of a run, with its texts.
-- @repetition_id: the repetition; empty: those of the run =
-- @run_id: the run =
-- @side: its side; empty: all of them =
-- @task: only this task =
SELECT
    task, pair, item_id, filter, status, score, answer, expected, error, question, response,
    finish_reason, repetition_id
FROM (SELECT * FROM eval_samples
    WHERE ({repetition_id: String} != '' OR run_id = {run_id: String})
        AND ({task: String} = '' OR task = {task: String})
        AND repetition_id IN
        (
            SELECT repetition_id FROM repetitions
            WHERE ({repetition_id: String} = '' OR repetition_id = {repetition_id: String})
                AND ({run_id: String} = '' OR run_id = {run_id: String})
                AND ({side: String} = '' OR side = {side: String})
                AND ({repetition_id: String} != '' OR status = 'valid')
        )
    LIMIT 1 BY repetition_id, task, item_id, filter)
ORDER BY task, filter, pair, item_id
