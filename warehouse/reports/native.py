"""Test results as blocks of ClickHouse's Native format: whole columns, one block a job.

A block is its numbers of columns and rows, then each column's name, type and values. Numbers are
little-endian arrays, a Nullable is an array of flags and an array of values, an instant is an
Int64 of milliseconds, a UUID is two halves of 8 bytes, each little-endian. A LowCardinality is a
dictionary and an index into it: what is constant in a job costs one byte a row, and the engine
need not look it up for each. Blocks may follow each other, so payloads can be joined.

Source: ClickHouse's documentation of the format and of LowCardinality's serialization (version 1,
"additional keys").
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np
import numpy.typing as npt

from gauntlet.warehouse.reports.varint import encode_length, encode_text

RESULT_COLUMNS = (
    *("test_id", "job_id", "occurrence", "outcome", "duration_ms"),
    *("sha", "branch", "job_key", "queue", "started_at", "batch"),
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OUTCOMES = (
    "Enum8('passed' = 1, 'failed' = 2, 'error' = 3, 'skipped' = 4, 'xfailed' = 5, 'xpassed' = 6)"
)
_LABEL = "LowCardinality(String)"
_DICTIONARY_VERSION = (1).to_bytes(8, "little")
# Keys of its own (bit 9), which are a new dictionary (bit 10), indexed by bytes (0).
_DICTIONARY_KIND = (1 << 9 | 1 << 10).to_bytes(8, "little")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultColumns:
    """The columns of ``test_results`` that differ within a job; a duration may be NaN."""

    test_ids: npt.NDArray[np.uint64]
    occurrences: npt.NDArray[np.uint16]
    outcomes: npt.NDArray[np.int8]
    durations_ms: npt.NDArray[np.float32]


def encode_results(
    columns: ResultColumns,
    *,
    job_id: UUID,
    labels: Sequence[str],
    started_at: datetime,
    batch: int,
) -> bytes:
    """Encode the results of one job; ``labels`` are its sha, branch, job key and queue."""
    rows = len(columns.test_ids)
    absent = np.isnan(columns.durations_ms)
    durations = np.where(absent, np.float32(0), columns.durations_ms).astype("<f4")
    started = (started_at - _EPOCH) // timedelta(milliseconds=1)
    values = (
        ("UInt64", columns.test_ids.astype("<u8").tobytes()),
        ("UUID", (job_id.bytes[7::-1] + job_id.bytes[:7:-1]) * rows),
        ("UInt16", columns.occurrences.astype("<u2").tobytes()),
        (_OUTCOMES, columns.outcomes.astype("i1").tobytes()),
        ("Nullable(Float32)", absent.astype("u1").tobytes() + durations.tobytes()),
        *((_LABEL, _constant(label, rows)) for label in labels),
        ("DateTime64(3, 'UTC')", started.to_bytes(8, "little", signed=True) * rows),
        ("UInt64", batch.to_bytes(8, "little") * rows),
    )
    parts = [encode_length(len(RESULT_COLUMNS)), encode_length(rows)]
    for name, (kind, data) in zip(RESULT_COLUMNS, values, strict=True):
        parts += [encode_text(name), encode_text(kind), data]
    return b"".join(parts)


def _constant(label: str, rows: int) -> bytes:
    """A LowCardinality column of one value."""
    return b"".join(
        (
            _DICTIONARY_VERSION,
            _DICTIONARY_KIND,
            (1).to_bytes(8, "little"),
            encode_text(label),
            rows.to_bytes(8, "little"),
            bytes(rows),
        )
    )
