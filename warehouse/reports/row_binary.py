"""Test results in ClickHouse's RowBinary.

Of the types used here: numbers are little-endian, a string (``LowCardinality`` too) is its length
as a varint and its bytes, a UUID is two halves of 8 bytes, each little-endian, an instant is an
Int64 of milliseconds, and a Nullable is a flag byte, followed by the value only where there is one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np
import numpy.typing as npt

RESULT_COLUMNS = (
    *("test_id", "job_id", "occurrence", "outcome", "duration_ms"),
    *("sha", "branch", "job_key", "queue", "started_at", "batch"),
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PRESENT, _ABSENT = b"\0", b"\1"


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
    tail = b"".join((*map(encode_text, labels), _instant(started_at), batch.to_bytes(8, "little")))
    absent = np.isnan(columns.durations_ms)
    payload = b""
    for rows, flag in ((~absent, _PRESENT), (absent, _ABSENT)):
        count = int(np.count_nonzero(rows))
        if not count:
            continue
        duration = bytes(4) if flag == _PRESENT else b""
        # Ids, occurrence, outcome and duration are filled in below, all the rest is the template.
        template = bytes(8) + _uuid(job_id) + bytes(3) + flag + duration + tail
        encoded = np.frombuffer(bytearray(template * count), _layout(len(duration), len(tail)))
        encoded["test_id"] = columns.test_ids[rows]
        encoded["occurrence"] = columns.occurrences[rows]
        encoded["outcome"] = columns.outcomes[rows]
        if duration:
            encoded["duration_ms"] = columns.durations_ms[rows]
        payload += encoded.tobytes()
    return payload


def _layout(duration: int, tail: int) -> np.dtype[np.void]:
    fields = [("test_id", "<u8"), ("job_id", "V16"), ("occurrence", "<u2"), ("outcome", "i1")]
    fields.append(("flag", "u1"))
    if duration:
        fields.append(("duration_ms", "<f4"))
    return np.dtype([*fields, ("tail", f"V{tail}")])


def encode_text(text: str) -> bytes:
    """Encode a String, or a LowCardinality(String)."""
    data = text.encode()
    return encode_length(len(data)) + data


def encode_length(number: int) -> bytes:
    """Encode a length as a varint."""
    return _LENGTHS[number] if number < len(_LENGTHS) else _varint(number)


def _varint(number: int) -> bytes:
    """Seven bits a byte, the lowest first; the top bit says that more follow."""
    parts = bytearray()
    while number >= 0x80:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)


_LENGTHS = [_varint(number) for number in range(1024)]


def _uuid(value: UUID) -> bytes:
    return value.bytes[7::-1] + value.bytes[:7:-1]


def _instant(value: datetime) -> bytes:
    milliseconds = (value - _EPOCH) // timedelta(milliseconds=1)
    return milliseconds.to_bytes(8, "little", signed=True)
