-- reads-from: 1
-- What runs measured, what was decided, and the books that ingest keeps.
-- Every table replaces rows of one identity (its sorting key) with the latest, so that a row that
-- slipped in twice becomes one; non_replicated_deduplication_window drops a repeated block at once.

CREATE TABLE runs
(
    run_id            String,
    version           UInt32,
    recipe            LowCardinality(String),
    recipe_digest     String,
    recipe_definition String CODEC(ZSTD(3)),
    engine_kind       LowCardinality(String),
    gauntlet_version  LowCardinality(String),
    host              LowCardinality(String),
    seed              UInt64,
    status            LowCardinality(String),
    reason            String,
    started_at        DateTime64(3, 'UTC'),
    updated_at        DateTime64(3, 'UTC'),
    batch             UInt64
)
ENGINE = ReplacingMergeTree
ORDER BY (run_id, version)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE TABLE repetitions
(
    run_id          String,
    repetition_id   String,
    series_id       LowCardinality(String),
    recipe          LowCardinality(String),
    point           LowCardinality(String),
    source          LowCardinality(String),
    side            LowCardinality(String),
    workload        LowCardinality(String),
    kind            LowCardinality(String),
    pair            UInt32,
    position        UInt32,
    status          LowCardinality(String),
    reasons         Array(String),
    config_fp       LowCardinality(String),
    engine_kind     LowCardinality(String),
    engine_version  Nullable(String),
    engine_commit   Nullable(String),
    image_digest    Nullable(String),
    model           LowCardinality(String),
    host            LowCardinality(String),
    accelerator     Nullable(String),
    driver          Nullable(String),
    client          LowCardinality(String),
    client_version  LowCardinality(String),
    dataset_digest  String,
    seed            Nullable(UInt64),
    started_at      DateTime64(3, 'UTC'),
    ended_at        DateTime64(3, 'UTC'),
    completed       UInt32,
    failed          UInt32,
    settings        Map(LowCardinality(String), String),
    artifact        Nullable(String),
    artifact_digest Nullable(String),
    build_id        Nullable(String),
    batch           UInt64,
    INDEX by_run run_id TYPE bloom_filter GRANULARITY 1
)
ENGINE = ReplacingMergeTree
ORDER BY (series_id, started_at, repetition_id)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE TABLE metrics
(
    run_id        String,
    repetition_id String,
    series_id     LowCardinality(String),
    side          LowCardinality(String),
    workload      LowCardinality(String),
    pair          UInt32,
    metric        LowCardinality(String),
    statistic     LowCardinality(String),
    `window`      LowCardinality(String),
    value         Nullable(Float64),
    unit          LowCardinality(String),
    direction     LowCardinality(String),
    n             UInt32,
    batch         UInt64,
    INDEX by_run run_id TYPE bloom_filter GRANULARITY 1
)
ENGINE = ReplacingMergeTree
ORDER BY (metric, statistic, `window`, series_id, repetition_id)
SETTINGS non_replicated_deduplication_window = 10000;

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
    itl_p50_ms    Nullable(Float64),
    itl_p99_ms    Nullable(Float64),
    itl_max_ms    Nullable(Float64),
    e2e_ms        Nullable(Float64),
    batch         UInt64
)
ENGINE = ReplacingMergeTree
ORDER BY (run_id, repetition_id, request_index)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE TABLE eval_results
(
    run_id          String,
    repetition_id   String,
    series_id       LowCardinality(String),
    task            LowCardinality(String),
    task_version    LowCardinality(String),
    harness         LowCardinality(String),
    harness_version LowCardinality(String),
    fewshot         Nullable(UInt16),
    metric          LowCardinality(String),
    filter          LowCardinality(String),
    value           Nullable(Float64),
    stderr          Nullable(Float64),
    direction       LowCardinality(String),
    n               UInt32,
    partial         Bool,
    batch           UInt64
)
ENGINE = ReplacingMergeTree
ORDER BY (task, metric, filter, series_id, repetition_id)
SETTINGS non_replicated_deduplication_window = 10000;

-- The same question across builds lies side by side.
CREATE TABLE eval_samples
(
    run_id        String,
    repetition_id String,
    series_id     LowCardinality(String),
    side          LowCardinality(String),
    task          LowCardinality(String),
    item_id       String,
    filter        LowCardinality(String),
    pair          UInt32,
    status        LowCardinality(String),
    score         Nullable(Float64),
    answer        String CODEC(ZSTD(3)),
    expected      String CODEC(ZSTD(3)),
    error         String,
    question      String CODEC(ZSTD(3)),
    response      String CODEC(ZSTD(6)),
    finish_reason LowCardinality(Nullable(String)),
    output_tokens Nullable(UInt32),
    batch         UInt64,
    INDEX by_run run_id TYPE bloom_filter GRANULARITY 1
)
ENGINE = ReplacingMergeTree
ORDER BY (task, item_id, filter, series_id, repetition_id)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE TABLE decisions
(
    decision_id String,
    run_id      String,
    kind        LowCardinality(String),
    subject     String,
    outcome     LowCardinality(String),
    blocking    Bool,
    reason      String,
    evidence    String CODEC(ZSTD(3)),
    at          DateTime64(3, 'UTC'),
    actor       LowCardinality(String),
    mode        LowCardinality(String),
    supersedes  Nullable(String),
    expires_at  Nullable(DateTime64(3, 'UTC')),
    batch       UInt64
)
ENGINE = ReplacingMergeTree
ORDER BY (kind, subject, at, decision_id)
SETTINGS non_replicated_deduplication_window = 10000;

-- The ledger: one line for each table of a batch and each day that it touched, written after all
-- of the batch's rows. `rows` stands on the line of its first day alone, so that sums are right.
CREATE TABLE batches
(
    table_name LowCardinality(String),
    day        Date,
    batch      UInt64,
    batch_id   String,
    source     LowCardinality(String),
    rows       UInt32,
    shipped_at DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree
ORDER BY (table_name, day, batch);

-- What the door refused, with reasons.
CREATE TABLE rejected_rows
(
    source   LowCardinality(String),
    origin   String,
    position String,
    target   LowCardinality(String),
    reasons  Array(String),
    raw      String CODEC(ZSTD(3)),
    at       DateTime64(3, 'UTC'),
    batch    UInt64
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(at)
ORDER BY (source, origin, position, target, reasons)
SETTINGS non_replicated_deduplication_window = 10000;
