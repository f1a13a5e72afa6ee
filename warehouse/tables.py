"""The tables by name, in the order in which a batch's rows are inserted.

What others refer to comes last: who finds the repetition finds its metrics, and who finds a test
result finds its name, so that a reader never sees half a batch.
"""

from gauntlet.warehouse.rows.base import Row
from gauntlet.warehouse.rows.ci import (
    BuildRow,
    CommitRow,
    EnvironmentRow,
    GpuSampleRow,
    JobAttemptRow,
    JobFailureRow,
    JobLogRow,
    QueuePriceRow,
    QueueSampleRow,
    SpanRow,
    TestDetailRow,
)
from gauntlet.warehouse.rows.ingest import RejectedRow
from gauntlet.warehouse.rows.measurement import (
    DecisionRow,
    EvalResultRow,
    EvalSampleRow,
    MetricRow,
    RepetitionRow,
    RequestRow,
    RunRow,
)
from gauntlet.warehouse.rows.telemetry import TelemetryRow

ROW_MODELS: dict[str, type[Row]] = {
    model.table: model
    for model in (
        RejectedRow,
        TelemetryRow,
        RequestRow,
        MetricRow,
        EvalSampleRow,
        EvalResultRow,
        RepetitionRow,
        DecisionRow,
        RunRow,
        QueuePriceRow,
        QueueSampleRow,
        GpuSampleRow,
        SpanRow,
        EnvironmentRow,
        JobLogRow,
        JobFailureRow,
        JobAttemptRow,
        BuildRow,
        CommitRow,
        TestDetailRow,
    )
}

# Too many rows for a model each: they come as columns (warehouse/reports/block.py).
BLOCK_TABLES = ("tests", "test_results")

# Rows that only go with others: who hands in 97 results does not expect to hear of 194 rows.
SIDE_TABLES = frozenset({"tests", "test_details", "rejected_rows"})

TABLES = (*ROW_MODELS, *BLOCK_TABLES)
