-- reads-from: 1
-- What engine, host and accelerators did while something was measured, a value a row.

CREATE TABLE telemetry
(
    run_id        String,
    repetition_id String,
    at            DateTime64(3, 'UTC') CODEC(DoubleDelta, ZSTD(1)),
    source        LowCardinality(String),
    device        LowCardinality(String),
    metric        LowCardinality(String),
    value         Float64 CODEC(Gorilla, ZSTD(1)),
    batch         UInt64
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(at)
ORDER BY (run_id, source, device, metric, at)
SETTINGS non_replicated_deduplication_window = 10000;
