-- reads-from: 1
-- What continuous integration did.

CREATE TABLE commits
(
    repository   LowCardinality(String),
    branch       LowCardinality(String),
    position     UInt32,
    sha          String,
    parent       String,
    author       LowCardinality(String),
    committed_at DateTime64(3, 'UTC'),
    title        String,
    pull_request Nullable(UInt32),
    reverts      Nullable(String),
    paths        Array(String) CODEC(ZSTD(3)),
    version      UInt64,
    batch        UInt64,
    INDEX by_sha sha TYPE bloom_filter GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (repository, branch, position)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE TABLE builds
(
    build_id     UUID,
    pipeline     LowCardinality(String),
    number       UInt32,
    sha          String,
    branch       LowCardinality(String),
    pull_request Nullable(UInt32),
    state        LowCardinality(String),
    blocked      Bool,
    source       LowCardinality(String),
    message      String,
    author       LowCardinality(String),
    url          String,
    rebuilt_from Nullable(UUID),
    environment  Map(LowCardinality(String), String),
    created_at   DateTime64(3, 'UTC'),
    scheduled_at Nullable(DateTime64(3, 'UTC')),
    started_at   Nullable(DateTime64(3, 'UTC')),
    finished_at  Nullable(DateTime64(3, 'UTC')),
    version      UInt64,
    batch        UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toYYYYMM(created_at)
ORDER BY (pipeline, branch, created_at, build_id)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE TABLE job_attempts
(
    job_id        UUID,
    build_id      UUID,
    pipeline      LowCardinality(String),
    build_number  UInt32,
    sha           LowCardinality(String),
    branch        LowCardinality(String),
    group_key     LowCardinality(String),
    job_key       LowCardinality(String),
    job_name      LowCardinality(String),
    shard         Nullable(UInt16),
    shards        Nullable(UInt16),
    attempt       UInt8,
    retried       Bool,
    retried_from  Nullable(UUID),
    retry_type    LowCardinality(String),
    queue         LowCardinality(String),
    agent         LowCardinality(String),
    host          LowCardinality(String),
    state         LowCardinality(String),
    soft_failed   Bool,
    exit_status   Nullable(Int32),
    signal        LowCardinality(String),
    signal_reason LowCardinality(String),
    url           String CODEC(ZSTD(3)),
    created_at    DateTime64(3, 'UTC'),
    scheduled_at  Nullable(DateTime64(3, 'UTC')),
    runnable_at   Nullable(DateTime64(3, 'UTC')),
    started_at    Nullable(DateTime64(3, 'UTC')),
    finished_at   Nullable(DateTime64(3, 'UTC')),
    version       UInt64,
    batch         UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toYYYYMM(created_at)
ORDER BY (branch, job_key, created_at, job_id)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE TABLE job_failures
(
    job_id          UUID,
    failure_class   LowCardinality(String),
    signature       String,
    line_number     Nullable(UInt32),
    line            String,
    wrong_exit_code Bool,
    classifier      LowCardinality(String),
    version         UInt64,
    batch           UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY job_id
SETTINGS non_replicated_deduplication_window = 10000;

CREATE TABLE job_logs
(
    job_id             UUID,
    bytes              UInt64,
    lines              UInt64,
    sha256             String,
    location           String,
    first_at           Nullable(DateTime64(3, 'UTC')),
    last_at            Nullable(DateTime64(3, 'UTC')),
    tail               String CODEC(ZSTD(6)),
    error_line_numbers Array(UInt32),
    error_lines        Array(String) CODEC(ZSTD(6)),
    version            UInt64,
    batch              UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY job_id
SETTINGS non_replicated_deduplication_window = 10000;

-- Names of tests; results hold the id alone, which keeps them narrow.
CREATE TABLE tests
(
    test_id    UInt64,
    repository LowCardinality(String),
    nodeid     String CODEC(ZSTD(3)),
    file       LowCardinality(String),
    batch      UInt64
)
ENGINE = ReplacingMergeTree
ORDER BY test_id
SETTINGS non_replicated_deduplication_window = 10000;

CREATE TABLE test_results
(
    test_id     UInt64,
    job_id      UUID,
    occurrence  UInt16,
    outcome     Enum8('passed' = 1, 'failed' = 2, 'error' = 3, 'skipped' = 4, 'xfailed' = 5, 'xpassed' = 6),
    duration_ms Nullable(Float32),
    sha         LowCardinality(String),
    branch      LowCardinality(String),
    job_key     LowCardinality(String),
    queue       LowCardinality(String),
    started_at  DateTime64(3, 'UTC'),
    batch       UInt64
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMMDD(started_at)
ORDER BY (test_id, started_at, job_id, occurrence)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE TABLE test_details
(
    test_id    UInt64,
    job_id     UUID,
    occurrence UInt16,
    outcome    LowCardinality(String),
    message    String CODEC(ZSTD(3)),
    text       String CODEC(ZSTD(6)),
    file       LowCardinality(String),
    line       Nullable(UInt32),
    started_at DateTime64(3, 'UTC'),
    batch      UInt64
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(started_at)
ORDER BY (test_id, started_at, job_id, occurrence)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE TABLE spans
(
    build_id    Nullable(UUID),
    job_id      UUID,
    span_id     String,
    parent_id   String,
    trace_id    String,
    kind        LowCardinality(String),
    name        String,
    started_at  DateTime64(3, 'UTC'),
    duration_ms Nullable(Float64),
    status      LowCardinality(String),
    attributes  Map(LowCardinality(String), String),
    batch       UInt64
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(started_at)
ORDER BY (job_id, started_at, span_id)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE TABLE queue_samples
(
    at            DateTime64(3, 'UTC') CODEC(DoubleDelta, ZSTD(1)),
    queue         LowCardinality(String),
    agents_total  Nullable(UInt32),
    agents_busy   Nullable(UInt32),
    agents_idle   Nullable(UInt32),
    jobs_waiting  Nullable(UInt32),
    jobs_running  Nullable(UInt32),
    oldest_wait_s Nullable(Float64),
    batch         UInt64
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(at)
ORDER BY (queue, at)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE TABLE queue_prices
(
    queue        LowCardinality(String),
    vendor       LowCardinality(String),
    accelerator  LowCardinality(String),
    usd_per_hour Nullable(Float64),
    valid_from   DateTime64(3, 'UTC'),
    version      UInt64,
    batch        UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (queue, valid_from)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE TABLE gpu_samples
(
    at              DateTime64(3, 'UTC') CODEC(DoubleDelta, ZSTD(1)),
    host            LowCardinality(String),
    gpu             LowCardinality(String),
    name            LowCardinality(String),
    job_id          Nullable(UUID),
    run_id          String,
    utilization_pct Nullable(Float32),
    memory_used_mib Nullable(Float32),
    power_w         Nullable(Float32),
    sm_clock_mhz    Nullable(Float32),
    temperature_c   Nullable(Float32),
    throttle_bits   Nullable(UInt64),
    xid             Nullable(UInt32),
    batch           UInt64
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(at)
ORDER BY (host, gpu, at)
SETTINGS non_replicated_deduplication_window = 10000;

-- Which roll-up of a day counts: the one of the highest generation. `batches` is how many batches
-- of that day the ledger held before it was computed; another number now means: compute it anew.
CREATE TABLE rollup_days
(
    target     LowCardinality(String),
    day        Date,
    generation UInt32,
    batches    UInt64
)
ENGINE = ReplacingMergeTree
ORDER BY (target, day, generation);

CREATE TABLE test_daily
(
    test_id      UInt64,
    day          Date,
    generation   UInt32,
    job_key      LowCardinality(String),
    queue        LowCardinality(String),
    on_main      Bool,
    runs         UInt32,
    passed       UInt32,
    failed       UInt32,
    skipped      UInt32,
    flaky        UInt32,
    first_failed Nullable(DateTime64(3, 'UTC')),
    last_failed  Nullable(DateTime64(3, 'UTC')),
    duration_sum Float64,
    duration_n   UInt32,
    duration_max Nullable(Float32)
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(day)
ORDER BY (test_id, day, generation)
SETTINGS non_replicated_deduplication_window = 1000;

CREATE TABLE job_daily
(
    day            Date,
    generation     UInt32,
    pipeline       LowCardinality(String),
    on_main        Bool,
    group_key      LowCardinality(String),
    job_key        LowCardinality(String),
    queue          LowCardinality(String),
    attempts       UInt32,
    passed         UInt32,
    failed         UInt32,
    soft_failed    UInt32,
    retries        UInt32,
    run_s          Float64,
    wait_s         Float64,
    run_quantiles  AggregateFunction(quantilesTDigest(0.5, 0.9, 0.99), Float32),
    wait_quantiles AggregateFunction(quantilesTDigest(0.5, 0.9, 0.99), Float32)
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(day)
ORDER BY (job_key, day, generation)
SETTINGS non_replicated_deduplication_window = 1000;

-- Days of which the roll-up does not hold all that the store holds. Raw results are whole for 30
-- days, attempts for 540 (warehouse/retention.yaml); what comes in for older days changes no roll-up.
CREATE VIEW stale_test_days AS
SELECT 'test_daily' AS target, ledger.day AS day, ledger.batches AS batches, done.generation AS generation
FROM
(
    SELECT day, count() AS batches
    FROM batches
    WHERE table_name = 'test_results' AND day > today() - 30
    GROUP BY day
) AS ledger
LEFT JOIN
(
    SELECT day, max(r.generation) AS generation, argMax(r.batches, r.generation) AS batches
    FROM rollup_days AS r
    WHERE r.target = 'test_daily' AND day > today() - 30
    GROUP BY day
) AS done USING (day)
WHERE ledger.batches != done.batches;

CREATE VIEW stale_job_days AS
SELECT 'job_daily' AS target, ledger.day AS day, ledger.batches AS batches, done.generation AS generation
FROM
(
    SELECT day, count() AS batches
    FROM batches
    WHERE table_name = 'job_attempts' AND day > today() - 540
    GROUP BY day
) AS ledger
LEFT JOIN
(
    SELECT day, max(r.generation) AS generation, argMax(r.batches, r.generation) AS batches
    FROM rollup_days AS r
    WHERE r.target = 'job_daily' AND day > today() - 540
    GROUP BY day
) AS done USING (day)
WHERE ledger.batches != done.batches;

-- Tests by day, job and queue: roll-ups where they are whole, else counted from the results.
CREATE VIEW test_days AS
SELECT test_id, day, job_key, queue, on_main, runs, passed, failed, skipped, flaky, first_failed, last_failed,
    duration_sum, duration_n, duration_max
FROM test_daily
WHERE (day, generation) IN (SELECT day, max(generation) FROM rollup_days WHERE target = 'test_daily' GROUP BY day)
    AND day NOT IN (SELECT day FROM stale_test_days)
UNION ALL
SELECT
    r.test_id AS test_id, r.day AS day, r.job_key AS job_key, r.queue AS queue, r.on_main AS on_main, r.runs AS runs,
    r.passed AS passed, r.failed AS failed, r.skipped AS skipped, toUInt32(f.flaky) AS flaky,
    r.first_failed AS first_failed, r.last_failed AS last_failed, r.duration_sum AS duration_sum,
    r.duration_n AS duration_n, r.duration_max AS duration_max
FROM
(
    SELECT
        test_id, toDate(started_at) AS day, job_key, queue, branch IN ('main', 'master') AS on_main,
        toUInt32(count()) AS runs, toUInt32(countIf(outcome IN ('passed', 'xfailed'))) AS passed,
        toUInt32(countIf(outcome IN ('failed', 'error'))) AS failed, toUInt32(countIf(outcome = 'skipped')) AS skipped,
        min(if(outcome IN ('failed', 'error'), started_at, NULL)) AS first_failed,
        max(if(outcome IN ('failed', 'error'), started_at, NULL)) AS last_failed,
        sum(toFloat64(ifNull(duration_ms, 0))) AS duration_sum, toUInt32(count(duration_ms)) AS duration_n,
        max(duration_ms) AS duration_max
    FROM test_results
    WHERE toDate(started_at) IN (SELECT day FROM stale_test_days)
    GROUP BY test_id, day, job_key, queue, on_main
) AS r
LEFT JOIN
(
    SELECT test_id, day, job_key, queue, on_main, count() AS flaky
    FROM
    (
        SELECT test_id, toDate(started_at) AS day, job_key, queue, branch IN ('main', 'master') AS on_main, sha
        FROM test_results
        WHERE toDate(started_at) IN (SELECT day FROM stale_test_days) AND test_id IN
        (
            SELECT test_id FROM test_results
            WHERE toDate(started_at) IN (SELECT day FROM stale_test_days)
                AND outcome IN ('failed', 'error')
        )
        GROUP BY test_id, day, job_key, queue, on_main, sha
        HAVING countIf(outcome IN ('passed', 'xfailed')) > 0 AND countIf(outcome IN ('failed', 'error')) > 0
    )
    GROUP BY test_id, day, job_key, queue, on_main
) AS f ON r.test_id = f.test_id AND r.day = f.day AND r.job_key = f.job_key AND r.queue = f.queue
    AND r.on_main = f.on_main;
