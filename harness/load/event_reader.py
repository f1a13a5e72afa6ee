"""Read the raw event log of a load: every exchange, each read with its bytes and both stamps."""

import gzip
import json
import os
import shutil
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, overload

import numpy as np
import numpy.typing as npt

from gauntlet.core.errors import InfrastructureError
from gauntlet.harness.load.arrivals import Schedule
from gauntlet.harness.load.plan import BYTES, EVENTS, SUMMARY
from gauntlet.harness.load.requests import PlannedRequest, chains_of
from gauntlet.harness.load.wire import FIELDS, Kind, Outcome

Stamps = npt.NDArray[np.float64]
# A kernel stamp this far from ours does not belong to the same clock.
_MOST_LAG_NS = 60_000_000_000
# Between the offsets of the two clocks before and after: more is a step, not a drift.
_STEP_NS = 5_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSummary:
    """What a worker said of itself. Times are monotonic ns, ``cpu_s`` without its start-up."""

    started_ns: int
    ended_ns: int
    realtime_offset_ns: tuple[int, int]
    cpu_s: float
    peak_rss_kib: int
    failure: str
    framing: Literal["http", "body"] = "http"

    @property
    def clock_step_ns(self) -> int:
        """By how much the wall clock moved against the monotonic one during the load."""
        before, after = self.realtime_offset_ns
        return after - before


@dataclass(slots=True)
class Exchange:
    """Raw log of one request; times are monotonic seconds.

    ``reads`` holds each read with our stamp, the kernel's (the same where there is none) and its
    bytes. ``failure`` is empty where the response ended by itself. With ``framing`` "http" the
    bytes are the whole response, else the body only.
    """

    request: PlannedRequest
    scheduled: float | None = None
    sent: float | None = None
    ended: float | None = None
    status: int | None = None
    reads: list[tuple[float, float, bytes]] = field(default_factory=list)
    failure: str = ""
    resent: bool = False
    framing: Literal["http", "body"] = "http"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadLog:
    """Everything that one load left behind.

    ``started`` and ``ended`` are monotonic seconds. ``lag_s`` holds, per read, how long the bytes
    lay in the kernel before we got to them; empty where the kernel does not stamp.
    """

    exchanges: Sequence[Exchange]
    schedule: Schedule
    summaries: tuple[WorkerSummary, ...]
    lag_s: Stamps

    @property
    def started(self) -> float:
        """When the first request could be sent."""
        return min(summary.started_ns for summary in self.summaries) / 1e9

    @property
    def ended(self) -> float:
        """When the last worker had nothing left to do."""
        return max(summary.ended_ns for summary in self.summaries) / 1e9

    @property
    def kernel_stamped(self) -> bool:
        """Whether the times of reads are the kernel's."""
        return bool(self.lag_s.size)

    def detached(self) -> "LoadLog":
        """A copy that needs no files."""
        return replace(self, exchanges=list(self.exchanges))


def read_log(
    folder: Path, workers: int, planned: Sequence[PlannedRequest], schedule: Schedule
) -> LoadLog:
    """Read what ``workers`` workers wrote into ``folder``.

    Exchanges are put together one by one as they are asked for, so that memory is that of the
    events, not of the bytes. Raises InfrastructureError where a worker left no summary.
    """
    summaries = [_summary(folder, number) for number in range(workers)]
    parts = [_WorkerEvents(folder, n, summary) for n, summary in enumerate(summaries)]
    started_s = min(summary.started_ns for summary in summaries) / 1e9
    return LoadLog(
        exchanges=_Exchanges(planned, parts, _due_times(planned, schedule, started_s)),
        schedule=schedule,
        summaries=tuple(summaries),
        lag_s=np.concatenate([part.lag_s for part in parts]) if parts else np.empty(0),
    )


def compress_log(folder: Path, workers: int) -> list[Path]:
    """Replace the raw files by gzip ones; return them. Reading works either way."""
    made = []
    for number in range(workers):
        for name in (EVENTS, BYTES):
            plain = folder / name.format(worker=number)
            if plain.exists():
                packed = plain.with_suffix(".bin.gz")
                with plain.open("rb") as source, gzip.open(packed, "wb", compresslevel=1) as out:
                    shutil.copyfileobj(source, out, 1 << 20)
                plain.unlink()
                made.append(packed)
    return made


def _summary(folder: Path, number: int) -> WorkerSummary:
    path = folder / SUMMARY.format(worker=number)
    try:
        raw = json.loads(path.read_text(encoding="ascii"))
    except (OSError, ValueError) as error:
        msg = f"load worker {number} left no account of itself in {path}"
        raise InfrastructureError(msg, hint="it was killed, by the memory limit perhaps") from error
    before, after = raw["realtime_offset_ns"]
    return WorkerSummary(**{**raw, "realtime_offset_ns": (before, after)})


class _Bytes:
    """What was read, by offset: from the plain file piece by piece, or unpacked as a whole."""

    def __init__(self, path: Path) -> None:
        self._file: int | None = None
        self._data = b""
        if path.exists():
            self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            weakref.finalize(self, os.close, self._file)
        else:
            self._data = gzip.decompress(_packed(path).read_bytes())

    def __call__(self, start: int, end: int) -> bytes:
        if self._file is None:
            return self._data[start:end]
        return os.pread(self._file, end - start, start)


def _packed(path: Path) -> Path:
    return path.with_suffix(".bin.gz")


class _WorkerEvents:
    """The events of one worker, grouped by request."""

    def __init__(self, folder: Path, number: int, summary: WorkerSummary) -> None:
        path = folder / EVENTS.format(worker=number)
        raw = path.read_bytes() if path.exists() else gzip.decompress(_packed(path).read_bytes())
        dtype = np.dtype(list(FIELDS))
        # A worker that was killed may have written half a record.
        events = np.frombuffer(raw[: len(raw) // dtype.itemsize * dtype.itemsize], dtype=dtype)
        kernel, self.lag_s = kernel_times(events, summary)
        self._ends = np.cumsum(np.where(events["kind"] == Kind.READ, events["size"], 0))
        self._events, self._kernel_ns, self._summary = events, kernel, summary
        self._order = np.argsort(events["request"], kind="stable")
        ordered = events["request"][self._order]
        requests, starts = np.unique(ordered, return_index=True)
        stops = [*starts[1:].tolist(), ordered.size]
        spans = zip(starts.tolist(), stops, strict=True)
        self.spans = dict(zip(requests.tolist(), spans, strict=True))
        self._bytes = _Bytes(folder / BYTES.format(worker=number))

    def fill(self, exchange: Exchange) -> None:
        """Put into an exchange what was seen of it."""
        start, stop = self.spans[exchange.request.index]
        mine = self._order[start:stop]
        events = self._events[mine]
        exchange.framing = self._summary.framing
        columns = zip(
            events["kind"].tolist(),
            (events["user_ns"] / 1e9).tolist(),
            (self._kernel_ns[mine] / 1e9).tolist(),
            self._ends[mine].tolist(),
            events["size"].tolist(),
            events["outcome"].tolist(),
            events["status"].tolist(),
            strict=True,
        )
        for kind, user_s, kernel_s, end, size, outcome, status in columns:
            if kind == Kind.READ:
                exchange.reads.append((user_s, kernel_s, self._bytes(end - size, end)))
            elif kind == Kind.SENT:
                exchange.sent = user_s
            elif kind == Kind.RESENT:
                exchange.resent = True
            else:
                exchange.ended = user_s
                exchange.status = status or None
                exchange.failure = "" if outcome == Outcome.COMPLETE else Outcome(outcome).label


class _Exchanges(Sequence[Exchange]):
    """Exchanges in the order of the plan, each made when it is looked at."""

    def __init__(
        self,
        planned: Sequence[PlannedRequest],
        parts: Sequence[_WorkerEvents],
        due_s: Mapping[int, float],
    ) -> None:
        self._planned = planned
        self._due_s = due_s
        self._part_of = {index: part for part in parts for index in part.spans}

    def __len__(self) -> int:
        return len(self._planned)

    @overload
    def __getitem__(self, at: int) -> Exchange: ...
    @overload
    def __getitem__(self, at: slice) -> list[Exchange]: ...
    def __getitem__(self, at: int | slice) -> Exchange | list[Exchange]:
        if isinstance(at, slice):
            return [self._make(request) for request in self._planned[at]]
        return self._make(self._planned[at])

    def _make(self, request: PlannedRequest) -> Exchange:
        exchange = Exchange(request, scheduled=self._due_s.get(request.index))
        part = self._part_of.get(request.index)
        if part is not None:
            part.fill(exchange)
        return exchange


def kernel_times(
    events: npt.NDArray[np.void], summary: WorkerSummary
) -> tuple[npt.NDArray[np.int64], Stamps]:
    """Kernel stamps on the monotonic clock (ns), and the lag of each stamped read (s).

    The stamps are CLOCK_REALTIME; the offset is interpolated between the load's two ends. Where
    the clock was stepped, or a read has no stamp, our own stamp is used and there is no lag.
    """
    user = events["user_ns"]
    stamped = (events["kind"] == Kind.READ) & (events["kernel_s"] > 0)
    if not stamped.any() or abs(summary.clock_step_ns) > _STEP_NS:
        return user, np.empty(0)
    span = max(1, summary.ended_ns - summary.started_ns)
    share = np.clip((user - summary.started_ns) / span, 0.0, 1.0)
    offset = summary.realtime_offset_ns[0] + share * summary.clock_step_ns
    wall = events["kernel_s"] * 1_000_000_000 + events["kernel_ns"]
    kernel = wall - offset.astype(np.int64)
    lag = user - kernel
    usable = stamped & (lag < _MOST_LAG_NS) & (lag > -_STEP_NS)
    # A microsecond of disagreement between two clocks must not make a read earlier than sent.
    times = np.where(usable, np.minimum(kernel, user), user)
    return times, np.maximum(lag[usable], 0) / 1e9


def _due_times(
    planned: Sequence[PlannedRequest], schedule: Schedule, started_s: float
) -> dict[int, float]:
    """When each request was due, by its index; the first turn of a conversation alone is."""
    if schedule.due_s is None:
        return {}
    first = (chain[0].index for chain in chains_of(planned))
    return {index: started_s + due for index, due in zip(first, schedule.due_s, strict=True)}
