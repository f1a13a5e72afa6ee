"""Rows of any table from JSON lines, each checked by the table's model."""

from collections.abc import Sequence
from datetime import datetime

from pydantic import ValidationError

from gauntlet.warehouse.batch import Batch, content_id
from gauntlet.warehouse.rows.base import Row, implausible_instant
from gauntlet.warehouse.rows.ingest import RejectedRow

_RAW_LIMIT = 2_000


def line_batch(
    lines: Sequence[tuple[int, bytes]],
    *,
    model: type[Row],
    origin: str,
    source: str,
    now: datetime,
) -> tuple[Batch, list[str]]:
    """Read numbered lines; return the batch and what was wrong, line by line."""
    rows: list[Row] = []
    said = []
    for number, line in lines:
        if not line.strip():
            continue
        row, reasons = _read(line, model, now)
        if row is None:
            said.append(f"{origin}:{number}: {'; '.join(reasons)}")
            row = RejectedRow(
                source=source,
                origin=origin,
                position=f"line {number}",
                target=model.table,
                reasons=tuple(reasons),
                raw=line[:_RAW_LIMIT].decode("utf-8", errors="replace").rstrip(),
                at=now,
            )
        rows.append(row)
    name = content_id(source, model.table.encode(), *(line for _, line in lines))
    return Batch.of(name, rows, source=source, created_at=now), said


def _read(line: bytes, model: type[Row], now: datetime) -> tuple[Row | None, list[str]]:
    try:
        row = model.model_validate_json(line)
    except ValidationError as error:
        return None, [
            f"{'.'.join(map(str, each['loc'])) or 'line'}: {each['msg']}" for each in error.errors()
        ]
    problems = [
        f"{name}: {problem}"
        for name in model.model_fields
        if isinstance(value := getattr(row, name), datetime)
        and name not in {"expires_at", "valid_from"}
        and (problem := implausible_instant(value, now))
    ]
    return (None, problems) if problems else (row, [])
