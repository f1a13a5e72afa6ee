-- reads-from: 1
-- What one attempt of a job ran with, a thing a row: packages, images, drivers, variables.

CREATE TABLE environments
(
    job_id      UUID,
    kind        LowCardinality(String),
    name        LowCardinality(String),
    version     String,
    released_at Nullable(DateTime64(3, 'UTC')),
    at          DateTime64(3, 'UTC'),
    batch       UInt64
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(at)
ORDER BY (job_id, kind, name, at)
SETTINGS non_replicated_deduplication_window = 10000;
