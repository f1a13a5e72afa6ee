"""What Buildkite knows, as rows: builds and job attempts by REST and webhook, queues by metrics."""
