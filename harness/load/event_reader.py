"""Read the raw event log of a load: every exchange, each read with its bytes and both stamps."""

import gzip
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from gauntlet.core.errors import InfrastructureError
from gauntlet.harness.load.arrivals import Schedule
from gauntlet.harness.load.plan import BYTES, EVENTS, SUMMARY
from gauntlet.harness.load.requests import PlannedRequest
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

    Raises InfrastructureError where a worker left no summary, so was killed.
    """
    by_index = {request.index: Exchange(request) for request in planned}
    summaries, lags = [], []
    for number in range(workers):
        summary = _summary(folder, number)
        summaries.append(summary)
        lags.append(_read_worker(folder, number, summary, by_index))
    _add_schedule(by_index, schedule, min(summary.started_ns for summary in summaries))
    return LoadLog(
        exchanges=[by_index[request.index] for request in planned],
        schedule=schedule,
        summaries=tuple(summaries),
        lag_s=np.concatenate(lags) if lags else np.empty(0),
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


def _whole(path: Path) -> bytes:
    if path.exists():
        return path.read_bytes()
    with gzip.open(path.with_suffix(".bin.gz"), "rb") as stream:
        return stream.read()


def _read_worker(
    folder: Path, number: int, summary: WorkerSummary, exchanges: dict[int, Exchange]
) -> Stamps:
    """Fill the exchanges of one worker; return the lag of its reads in seconds."""
    raw = _whole(folder / EVENTS.format(worker=number))
    dtype = np.dtype(list(FIELDS))
    events = np.frombuffer(raw[: len(raw) // dtype.itemsize * dtype.itemsize], dtype=dtype)
    data = _whole(folder / BYTES.format(worker=number))
    user = events["user_ns"]
    kernel, lag = kernel_times(events, summary)
    is_read = events["kind"] == Kind.READ
    ends = np.cumsum(np.where(is_read, events["size"], 0))
    columns = zip(
        events["kind"].tolist(),
        events["request"].tolist(),
        (user / 1e9).tolist(),
        (kernel / 1e9).tolist(),
        ends.tolist(),
        events["size"].tolist(),
        events["outcome"].tolist(),
        events["status"].tolist(),
        strict=True,
    )
    for kind, request, user_s, kernel_s, end, size, outcome, status in columns:
        exchange = exchanges[request]
        if kind == Kind.READ:
            exchange.reads.append((user_s, kernel_s, data[end - size : end]))
        elif kind == Kind.SENT:
            exchange.sent = user_s
            exchange.framing = summary.framing
        elif kind == Kind.RESENT:
            exchange.resent = True
        else:
            exchange.ended = user_s
            exchange.status = status or None
            exchange.failure = "" if outcome == Outcome.COMPLETE else Outcome(outcome).label
    return lag


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


def _add_schedule(exchanges: dict[int, Exchange], schedule: Schedule, started_ns: int) -> None:
    if schedule.due_s is None:
        return
    due = iter(schedule.due_s)
    seen: dict[int, float] = {}
    for exchange in exchanges.values():
        request = exchange.request
        if request.conversation is None:
            exchange.scheduled = started_ns / 1e9 + next(due)
        elif request.conversation not in seen:
            seen[request.conversation] = started_ns / 1e9 + next(due)
            exchange.scheduled = seen[request.conversation]
