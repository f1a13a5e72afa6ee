"""A batch: rows that are spooled, shipped and found again as one.

On disk it is one line of JSON, the header, followed by the bytes that the store will be given,
table by table, in a format that ClickHouse reads itself. Nothing is parsed or checked a second
time on the way from the spool to the store.
"""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import cached_property
from typing import Literal, Self

from pydantic import ValidationError

from gauntlet.core.clock import utc_now
from gauntlet.core.yaml_file import StrictModel
from gauntlet.warehouse.rows.base import Row, UtcTime
from gauntlet.warehouse.tables import SIDE_TABLES, TABLES

NO_DAY = date(1970, 1, 1)
PayloadFormat = Literal["JSONEachRow", "RowBinary", "Native"]


class SectionHeader(StrictModel):
    """What the bytes of one table are: ``size`` bytes of ``rows`` rows with these columns."""

    table: str
    columns: tuple[str, ...]
    format: PayloadFormat
    rows: int
    size: int


class BatchHeader(StrictModel):
    """The first line of a spooled batch; ``sha256`` is over everything that follows it."""

    schema_version: Literal[1] = 1
    batch_id: str
    source: str
    created_at: UtcTime
    days: tuple[date, ...]
    sections: tuple[SectionHeader, ...]
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The rows of one table as the bytes of an insert."""

    table: str
    columns: tuple[str, ...]
    format: PayloadFormat
    rows: int
    payload: bytes


def batch_number(batch_id: str) -> int:
    """Return the number (UInt64) under which the rows of a batch are found in every table."""
    return int.from_bytes(hashlib.blake2b(batch_id.encode(), digest_size=8).digest(), "big")


def content_id(source: str, *parts: bytes) -> str:
    """Name a batch by its content, so that the same content is the same batch."""
    hasher = hashlib.blake2b(digest_size=16)
    for part in parts:
        hasher.update(len(part).to_bytes(8, "big"))
        hasher.update(part)
    return f"{source}/{hasher.hexdigest()}"


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Rows of several tables under one id; ``days`` are the UTC days that they belong to."""

    batch_id: str
    source: str
    created_at: datetime
    days: tuple[date, ...]
    sections: tuple[Section, ...]

    @classmethod
    def of(
        cls,
        batch_id: str,
        rows: Iterable[Row],
        *,
        source: str = "gauntlet",
        created_at: datetime | None = None,
        blocks: Iterable[Section] = (),
        days: Iterable[date] = (),
    ) -> Self:
        """Encode rows; ``blocks`` are sections that were encoded already, of ``days``."""
        groups: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            groups[row.table].append(row)
        number = batch_number(batch_id)
        sections = [*blocks, *(_encoded(found, number) for found in groups.values())]
        row_days = {day for found in groups.values() for row in found if (day := _day(row))}
        return cls(
            batch_id=batch_id,
            source=source,
            created_at=created_at or utc_now(),
            days=tuple(sorted(row_days | set(days))),
            sections=tuple(sorted(sections, key=lambda section: TABLES.index(section.table))),
        )

    @cached_property
    def number(self) -> int:
        """The batch's number in every table's column ``batch``."""
        return batch_number(self.batch_id)

    @property
    def rows(self) -> int:
        """Rows of all tables together."""
        return sum(section.rows for section in self.sections)

    @property
    def told_rows(self) -> int:
        """Rows that people count: without names, details and refusals."""
        return sum(section.rows for section in self.sections if section.table not in SIDE_TABLES)

    def table_rows(self) -> Mapping[str, int]:
        """Rows by table."""
        counts: dict[str, int] = defaultdict(int)
        for section in self.sections:
            counts[section.table] += section.rows
        return counts

    def dump(self) -> bytes:
        """Serialise; ``load_batches`` gives the same batch back."""
        body = b"".join(section.payload for section in self.sections)
        header = BatchHeader(
            batch_id=self.batch_id,
            source=self.source,
            created_at=self.created_at,
            days=self.days,
            sections=tuple(
                SectionHeader(
                    table=section.table,
                    columns=section.columns,
                    format=section.format,
                    rows=section.rows,
                    size=len(section.payload),
                )
                for section in self.sections
            ),
            sha256=hashlib.sha256(body).hexdigest(),
        )
        return header.model_dump_json().encode() + b"\n" + body


def load_batches(data: bytes) -> list[Batch]:
    """Read batches that were dumped one after the other. Raises ValueError where one is damaged."""
    found = []
    start = 0
    while start < len(data):
        end = data.find(b"\n", start)
        if end < 0:
            msg = "the header line is cut"
            raise ValueError(msg)
        header = _header(data[start:end])
        start = end + 1
        body = data[start : start + sum(section.size for section in header.sections)]
        if hashlib.sha256(body).hexdigest() != header.sha256:
            msg = f"{len(body)} bytes of rows do not have the digest of the header"
            raise ValueError(msg)
        start += len(body)
        found.append(
            Batch(
                batch_id=header.batch_id,
                source=header.source,
                created_at=header.created_at,
                days=header.days,
                sections=tuple(_sections(header, body)),
            )
        )
    return found


def _header(line: bytes) -> BatchHeader:
    try:
        return BatchHeader.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        msg = f"header: {'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise ValueError(msg) from error


def decision_batch(run_id: str, what: str, rows: Iterable[Row], at: datetime) -> Batch:
    """Make the batch of one round of decisions about a run."""
    return Batch.of(f"{run_id}/{what}/{at:%Y%m%dT%H%M%S%f}", rows, created_at=at)


def _sections(header: BatchHeader, body: bytes) -> Iterable[Section]:
    start = 0
    for section in header.sections:
        if section.table not in TABLES:
            msg = f"table {section.table!r} is none of {', '.join(TABLES)}"
            raise ValueError(msg)
        yield Section(
            table=section.table,
            columns=section.columns,
            format=section.format,
            rows=section.rows,
            payload=body[start : start + section.size],
        )
        start += section.size


@dataclass(frozen=True, slots=True)
class Part:
    """The share of one batch in a block."""

    rows: int
    payload: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Rows of one table, of one or many batches, that are inserted at once."""

    table: str
    columns: tuple[str, ...]
    format: PayloadFormat
    days: frozenset[date]
    parts: Mapping[int, Part]

    @property
    def rows(self) -> int:
        """Rows of all parts."""
        return sum(part.rows for part in self.parts.values())

    @property
    def batches(self) -> frozenset[int]:
        """Numbers of the batches that the rows belong to."""
        return frozenset(self.parts)

    @property
    def payload(self) -> bytes:
        """Bytes of all parts."""
        return b"".join(part.payload for part in self.parts.values())

    @property
    def token(self) -> str:
        """The same for the same rows: what a server drops a repeated insert by."""
        numbers = "/".join(f"{number:016x}" for number in self.parts)
        return f"{self.table}/{hashlib.blake2b(numbers.encode(), digest_size=16).hexdigest()}"

    def without(self, numbers: Collection[int]) -> "Block":
        """Leave out the parts of some batches."""
        return replace(
            self, parts={key: part for key, part in self.parts.items() if key not in numbers}
        )

    def replaced(self, parts: Mapping[int, tuple[int, bytes]]) -> "Block":
        """Put other rows in place of each part; parts without rows are left out."""
        return replace(self, parts={key: Part(*part) for key, part in parts.items() if part[0]})


def join_sections(batches: Iterable[Batch]) -> list[Block]:
    """Join the sections of batches by table, in the order in which tables are filled."""
    joined: dict[tuple[str, tuple[str, ...], PayloadFormat], dict[int, Part]] = {}
    days: dict[str, set[date]] = defaultdict(set)
    for batch in batches:
        for section in batch.sections:
            key = (section.table, section.columns, section.format)
            parts = joined.setdefault(key, {})
            earlier = parts.get(batch.number, Part(0, b""))
            parts[batch.number] = Part(
                earlier.rows + section.rows, earlier.payload + section.payload
            )
            days[section.table] |= set(batch.days)
    blocks = [
        Block(table=table, columns=columns, format=kind, days=frozenset(days[table]), parts=parts)
        for (table, columns, kind), parts in joined.items()
    ]
    return sorted(blocks, key=lambda block: TABLES.index(block.table))


def _encoded(rows: list[Row], number: int) -> Section:
    """Rows of one table as JSON lines, each with the number of its batch."""
    tail = b',"batch":%d}\n' % number
    lines = [row.model_dump_json().encode()[:-1] + tail for row in rows]
    return Section(
        table=rows[0].table,
        columns=(*type(rows[0]).model_fields, "batch"),
        format="JSONEachRow",
        rows=len(rows),
        payload=b"".join(lines),
    )


def _day(row: Row) -> date | None:
    if row.day is None:
        return None
    instant: datetime = getattr(row, row.day)
    return instant.astimezone(UTC).date()
