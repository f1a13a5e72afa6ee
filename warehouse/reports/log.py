"""A job log, streamed once: its size and digest, its sections as spans, its end, its errors."""

import hashlib
import os
import secrets
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol
from uuid import UUID

from gauntlet.core.clock import utc_now
from gauntlet.core.errors import InfrastructureError
from gauntlet.warehouse.reports.log_text import (
    BUILDKITE_MARK,
    NEEDLES,
    Line,
    heading_of,
    is_error,
    read_line,
    whole_lines,
)
from gauntlet.warehouse.reports.source import ByteSource
from gauntlet.warehouse.reports.text import shortened
from gauntlet.warehouse.rows.base import LONGEST_MS, implausible_instant
from gauntlet.warehouse.rows.ci import JobLogRow, SpanRow

TAIL_LINES = 200
_TAIL_BYTES = 1 << 16
# Colours and time marks may make up most of a log.
_TAIL_RAW = 1 << 18
_ERRORS = 25
_LONGEST_ERROR = 1000
_MOST_SPANS = 1000
_LONGEST_NAME = 200
_MOST_BYTES = 16 << 30
# So many lines at either end of a block are searched for a time.
_TIMED_LINES = 50


class Writable(Protocol):
    """Where the bytes of a log can go: a file, a compressor."""

    def write(self, data: bytes, /) -> int:
        """Take some bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogScan:
    """What one pass over a log gave.

    ``spans_left_out`` are sections without a time, or past the first thousand. ``problem`` says
    why the log ends before its time, where it does.
    """

    log: JobLogRow
    spans: list[SpanRow]
    spans_left_out: int = 0
    problem: str | None = None


def scan_log(
    chunks: Iterable[bytes],
    *,
    job_id: UUID,
    build_id: UUID | None = None,
    version: int = 0,
    location: str = "",
    now: datetime | None = None,
    copy_to: Writable | None = None,
) -> LogScan:
    """Read a log, gzip or not, in memory that does not grow with it.

    Size, lines and digest are those of the unpacked bytes, which also go to ``copy_to``.
    """
    source = ByteSource(chunks, limit=_MOST_BYTES)
    scanner = _Scanner(now or utc_now())
    meter = _Meter()
    for block in whole_lines(meter.measured(source, copy_to)):
        scanner.read(block)
    log = JobLogRow(
        job_id=job_id,
        bytes=meter.size,
        lines=meter.lines,
        sha256=meter.digest.hexdigest(),
        location=location,
        first_at=scanner.first_at,
        last_at=scanner.last_at,
        tail=scanner.tail(),
        error_line_numbers=tuple(number for number, _ in scanner.errors()),
        error_lines=tuple(text for _, text in scanner.errors()),
        version=version,
    )
    sections = scanner.sections()
    spans = [_span(section, job_id, build_id) for section in sections]
    left_out = scanner.sections_seen - len(sections)
    return LogScan(log=log, spans=spans, spans_left_out=left_out, problem=source.problem)


def keep_log(
    chunks: Iterable[bytes],
    folder: Path,
    *,
    job_id: UUID,
    build_id: UUID | None = None,
    version: int = 0,
    now: datetime | None = None,
) -> LogScan:
    """Read a log and keep it as ``<sha256>.log.gz`` in a folder; ``location`` is its path there.

    The file is whole or not there, and the same log is the same file.
    Raises InfrastructureError where the disk or the permissions refuse.
    """
    kept = _KeptLog(folder)
    try:
        scan = scan_log(
            chunks, job_id=job_id, build_id=build_id, version=version, now=now, copy_to=kept
        )
        path = kept.keep(f"{scan.log.sha256}.log.gz")
    finally:
        kept.discard()
    return replace(scan, log=scan.log.model_copy(update={"location": str(path)}))


class _KeptLog:
    """A gzip file under a name of its own, until it is kept. Equal logs give equal files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._packer = zlib.compressobj(6, zlib.DEFLATED, zlib.MAX_WBITS | 16)
        self._path = folder / f".{os.getpid()}-{secrets.token_hex(6)}.part"
        with self._disk():
            folder.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("xb")

    def write(self, data: bytes, /) -> int:
        """Append what was logged."""
        with self._disk():
            self._file.write(self._packer.compress(data))
        return len(data)

    def keep(self, name: str) -> Path:
        """Finish the file and give it its name."""
        with self._disk():
            self._file.write(self._packer.flush())
            self._file.close()
            return self._path.replace(self._folder / name)

    def discard(self) -> None:
        """Leave nothing behind that was not kept."""
        with self._disk():
            self._file.close()
            self._path.unlink(missing_ok=True)

    @contextmanager
    def _disk(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            msg = f"cannot keep a log in {self._folder}: {error.strerror or error}"
            hint = "free some space or choose another folder"
            raise InfrastructureError(msg, hint=hint) from error


@dataclass(slots=True)
class _Meter:
    """Counts what flows through."""

    size: int = 0
    lines: int = 0
    digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)

    def measured(self, chunks: Iterable[bytes], copy_to: Writable | None) -> Iterator[bytes]:
        """Hand the chunks on."""
        last = b"\n"
        for chunk in chunks:
            self.size += len(chunk)
            self.lines += chunk.count(b"\n")
            self.digest.update(chunk)
            if copy_to is not None:
                copy_to.write(chunk)
            last = chunk[-1:] or last
            yield chunk
        # The last line need not end.
        self.lines += last != b"\n"


@dataclass(slots=True)
class _Section:
    """A section of a log, from its heading to the next one."""

    mark: str
    name: str
    line: int
    started_at: datetime
    ended_at: datetime | None = None


class _Scanner:
    """Reads blocks of whole lines, in their order; looks only at lines that may matter."""

    def __init__(self, now: datetime) -> None:
        self.first_at: datetime | None = None
        self.last_at: datetime | None = None
        self.sections_seen = 0
        self._now = now
        self._lines = 0
        self._sections: list[_Section] = []
        self._open: _Section | None = None
        self._first_errors: list[tuple[int, str]] = []
        self._last_errors: deque[tuple[int, str]] = deque(maxlen=_ERRORS)
        self._recent: deque[bytes] = deque()
        self._recent_size = 0

    def read(self, block: bytes) -> None:
        """Read the next block."""
        self._read_times(block)
        place, number = 0, self._lines + 1
        for start in _starts(block):
            number += block.count(b"\n", place, start)
            place = start
            end = block.find(b"\n", start)
            line = read_line(block[start : end if end >= 0 else len(block)])
            if heading := heading_of(line.text):
                at = self._time(line) or self._time_before(block, start)
                self._begin(heading.mark, heading.name, number, at)
            if is_error(line.text):
                self._add_error(number, shortened(line.text, _LONGEST_ERROR))
        self._lines += block.count(b"\n")
        self._recent.append(block)
        self._recent_size += len(block)
        while self._recent_size - len(self._recent[0]) >= _TAIL_RAW:
            self._recent_size -= len(self._recent.popleft())

    def errors(self) -> list[tuple[int, str]]:
        """The first and the last error lines, with their numbers."""
        return [*self._first_errors, *self._last_errors]

    def sections(self) -> list[_Section]:
        """All sections; the last one ends with the log."""
        if self._open is not None and self._open.ended_at is None:
            self._open.ended_at = self.last_at
        return self._sections

    def tail(self) -> str:
        """The last lines as a terminal shows them, in at most 64 kB of UTF-8."""
        lines = b"".join(self._recent).removesuffix(b"\n").split(b"\n")[-TAIL_LINES:]
        text = "\n".join(read_line(line).text for line in lines)
        data = text.encode()
        return text if len(data) <= _TAIL_BYTES else data[-_TAIL_BYTES:].decode(errors="ignore")

    def _begin(self, mark: str, name: str, line: int, at: datetime | None) -> None:
        """End the section before, and begin one; one without a mark only ends."""
        if at is not None and self._open is not None:
            self._open.ended_at = self._open.ended_at or at
            self._open = None
        if not mark:
            return
        self.sections_seen += 1
        if at is not None and len(self._sections) < _MOST_SPANS:
            self._open = _Section(mark, shortened(name, _LONGEST_NAME), line, at)
            self._sections.append(self._open)

    def _add_error(self, number: int, text: str) -> None:
        if len(self._first_errors) < _ERRORS:
            self._first_errors.append((number, text))
        else:
            self._last_errors.append((number, text))

    def _read_times(self, block: bytes) -> None:
        if self.first_at is None:
            self.first_at = self._earliest(block.split(b"\n", _TIMED_LINES)[:_TIMED_LINES])
        if self.first_at is None:
            start = block.find(BUILDKITE_MARK)
            if start >= 0:
                self.first_at = self._time(read_line(block[start : start + 40]))
        last = self._time_before(block, len(block))
        if last is None:
            lines = block.removesuffix(b"\n").rsplit(b"\n", _TIMED_LINES)[-_TIMED_LINES:]
            last = self._earliest(reversed(lines))
        self.last_at = last or self.last_at

    def _earliest(self, lines: Iterable[bytes]) -> datetime | None:
        """The time of the first line that has one."""
        times = (self._time(read_line(line)) for line in lines)
        return next(filter(None, times), None)

    def _time_before(self, block: bytes, place: int) -> datetime | None:
        start = block.rfind(BUILDKITE_MARK, 0, place)
        return self._time(read_line(block[start : start + 40])) if start >= 0 else None

    def _time(self, line: Line) -> datetime | None:
        """When a line was written; a time that cannot be is none."""
        at = line.at
        return None if at is None or implausible_instant(at, self._now) else at


def _starts(block: bytes) -> list[int]:
    """Where lines start that may be headings or errors."""
    starts = set()
    for needle in NEEDLES:
        found = block.find(needle)
        while found >= 0:
            starts.add(block.rfind(b"\n", 0, found) + 1)
            end = block.find(b"\n", found)
            found = block.find(needle, end) if end >= 0 else -1
    return sorted(starts)


def _span(section: _Section, job_id: UUID, build_id: UUID | None) -> SpanRow:
    duration = None
    if section.ended_at is not None:
        duration = (section.ended_at - section.started_at) / timedelta(milliseconds=1)
    return SpanRow(
        build_id=build_id,
        job_id=job_id,
        span_id=f"log-{section.line}",
        kind="log_section",
        name=section.name,
        started_at=section.started_at,
        # A clock that was set meanwhile measures nothing.
        duration_ms=duration if duration is not None and 0 <= duration <= LONGEST_MS else None,
        attributes={"line": str(section.line), "mark": section.mark},
    )
