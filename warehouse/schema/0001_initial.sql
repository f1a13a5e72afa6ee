-- Runs, repetitions, metrics, requests, eval samples and decisions.
-- non_replicated_deduplication_window lets a batch be sent again under the same token without a second copy.

CREATE TABLE runs
(
    run_id           String,
    version          UInt32,
    recipe           LowCardinality(String),
    recipe_digest    String,
    recipe_definition String,
    engine_kind      LowCardinality(String),
    gauntlet_version LowCardinality(String),
    host             LowCardinality(String),
    seed             UInt64,
    status           LowCardinality(String),
    reason           String,
    started_at       DateTime64(3, 'UTC'),
    updated_at       DateTime64(3, 'UTC')
)
ENGINE = MergeTree
ORDER BY (run_id, version)
SETTINGS non_replicated_deduplication_window = 100000;

CREATE TABLE repetitions
(
    run_id         String,
    repetition_id  String,
    side           LowCardinality(String),
    workload       LowCardinality(String),
    kind           LowCardinality(String),
    pair           UInt32,
    position       UInt32,
    status         LowCardinality(String),
    reasons        Array(String),
    config_fp      String,
    engine_kind    LowCardinality(String),
    engine_version Nullable(String),
    engine_commit  Nullable(String),
    image_digest   Nullable(String),
    model          LowCardinality(String),
    host           LowCardinality(String),
    accelerator    Nullable(String),
    driver         Nullable(String),
    client         LowCardinality(String),
    client_version LowCardinality(String),
    dataset_digest String,
    seed           UInt64,
    started_at     DateTime64(3, 'UTC'),
    ended_at       DateTime64(3, 'UTC'),
    completed      UInt32,
    failed         UInt32
)
ENGINE = MergeTree
ORDER BY (run_id, workload, pair, position)
SETTINGS non_replicated_deduplication_window = 100000;

CREATE TABLE metrics
(
    run_id        String,
    repetition_id String,
    side          LowCardinality(String),
    workload      LowCardinality(String),
    pair          UInt32,
    metric        LowCardinality(String),
    statistic     LowCardinality(String),
    value         Nullable(Float64),
    unit          LowCardinality(String),
    direction     LowCardinality(String),
    n             UInt32
)
ENGINE = MergeTree
ORDER BY (run_id, workload, metric, statistic, pair, side)
SETTINGS non_replicated_deduplication_window = 100000;

CREATE TABLE requests
(
    run_id        String,
    repetition_id String,
    side          LowCardinality(String),
    workload      LowCardinality(String),
    pair          UInt32,
    request_index UInt32,
    status        LowCardinality(String),
    error         String,
    prompt_tokens Nullable(UInt32),
    cached_tokens Nullable(UInt32),
    output_tokens Nullable(UInt32),
    scheduled_ms  Nullable(Float64),
    sent_ms       Float64,
    ttft_ms       Nullable(Float64),
    tpot_ms       Nullable(Float64),
    e2e_ms        Nullable(Float64)
)
ENGINE = MergeTree
ORDER BY (run_id, workload, pair, side, request_index)
SETTINGS non_replicated_deduplication_window = 100000;

-- The same question across builds lies side by side.
CREATE TABLE eval_samples
(
    run_id        String,
    repetition_id String,
    side          LowCardinality(String),
    task          LowCardinality(String),
    item_id       String,
    pair          UInt32,
    status        LowCardinality(String),
    score         Nullable(Float64),
    answer        String,
    expected      String,
    error         String
)
ENGINE = MergeTree
ORDER BY (task, item_id, run_id, side)
SETTINGS non_replicated_deduplication_window = 100000;

CREATE TABLE decisions
(
    decision_id String,
    run_id      String,
    kind        LowCardinality(String),
    subject     String,
    outcome     LowCardinality(String),
    blocking    Bool,
    reason      String,
    evidence    String,
    at          DateTime64(3, 'UTC')
)
ENGINE = MergeTree
ORDER BY (run_id, kind, subject, at)
SETTINGS non_replicated_deduplication_window = 100000;
