-- Where did the time of one job go? Its log sections, steps and start-up phases in order.
-- @job_id: UUID of the attempt
SELECT kind, name, started_at, duration_ms, status, parent_id, span_id, attributes
FROM spans
WHERE job_id = toUUIDOrNull({job_id: String})
ORDER BY started_at, span_id
LIMIT 1 BY span_id
