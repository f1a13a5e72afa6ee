"""The load client: writes plans, starts workers, has them begin together, gathers their logs."""

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from gauntlet.core.errors import InfrastructureError, UsageError
from gauntlet.core.proc import Service
from gauntlet.harness.load.arrivals import Schedule
from gauntlet.harness.load.event_reader import LoadLog, read_log
from gauntlet.harness.load.plan import GO, READY, REQUESTS, SUMMARY, Limits, WorkerPlan, share
from gauntlet.harness.load.requests import PlannedRequest, chains_of
from gauntlet.perf_eval.workloads import Deadlines

CLIENT_NAME = "gauntlet-load"
# By name: importing the slow one's HTTP library would take longer than a fast load's start.
_WORKER = "gauntlet.harness.load.worker"
_SLOW_WORKER = "gauntlet.harness.load.slow_worker"
_POLL_S = 0.02
_START_S = 30.0
# From the word "go" to the first request: enough for every worker to have read it.
_LEAD_NS = 30_000_000
_MOST_PRECONNECTED = 1024
_STREAMS_PER_WORKER = 512
# A worker is an interpreter that starts in a tenth of a second; more are no use on few cores.
_MOST_WORKERS = 8


class LoadError(InfrastructureError):
    """The client itself failed: a worker died, or its log could not be written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where requests go. ``proxy`` and https take the slower path, and the log says so."""

    host: str
    port: int
    path: str = "/v1/completions"
    scheme: str = "http"
    proxy: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        base_url: str,
        path: str,
        *,
        proxy: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> "Target":
        """The target of a server's root URL. Raises UsageError for one that is no HTTP URL."""
        parts = urlsplit(base_url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            msg = f"not a server's URL: {base_url!r}"
            raise UsageError(msg, hint="such as http://127.0.0.1:8000, without /v1")
        port = parts.port or (443 if parts.scheme == "https" else 80)
        return cls(
            host=parts.hostname,
            port=port,
            path=parts.path.rstrip("/") + path,
            scheme=parts.scheme,
            proxy=proxy,
            headers=dict(headers or {}),
        )

    @property
    def direct(self) -> bool:
        """Whether the fast client can be used: plain HTTP, nothing in between."""
        return self.scheme == "http" and self.proxy is None

    def head(self, length: int) -> bytes:
        """HTTP head of a request with a body of ``length`` bytes."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        lines = [f"POST {self.path} HTTP/1.1", f"Host: {host}:{self.port}"]
        fields = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream",
            "Authorization": "Bearer EMPTY",
            **self.headers,
            "Content-Length": str(length),
        }
        lines += [f"{name}: {value}" for name, value in fields.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadJob:
    """One load: what is sent where, when, under which limits, by how many workers.

    ``workers`` None: one per 512 streams, at most half the cores. ``cores`` pins them.
    """

    target: Target
    planned: Sequence[PlannedRequest]
    schedule: Schedule
    deadlines: Deadlines = field(default_factory=Deadlines)
    workers: int | None = None
    cores: Sequence[int] = ()


def run_load(
    job: LoadJob, folder: Path | None = None, *, watch: Callable[[], object] = lambda: None
) -> LoadLog:
    """Send the whole load and return its raw log, which stays in ``folder``.

    Without a folder, a temporary one is used and the log is read into memory. ``watch`` is called
    some 50 times a second and ends the load by raising. Raises LoadError where a worker fails.
    """
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="gauntlet-load-") as temporary:
            return run_load(job, Path(temporary), watch=watch).detached()
    folder.mkdir(parents=True, exist_ok=True)
    if not job.planned:
        msg = "a load without requests"
        raise UsageError(msg)
    plans = write_plans(job, folder)
    module = _WORKER if job.target.direct else _SLOW_WORKER
    argv = [sys.executable, "-m", module, str(folder)]
    services: list[Service] = []
    try:
        for number in range(len(plans)):
            log = folder / f"worker-{number}.log"
            services.append(Service([*argv, str(number)], log=log, grace=5.0))
        _start_together(folder, services, watch)
        _wait(folder, services, watch)
    finally:
        for service in services:
            service.close()
    return read_log(folder, len(plans), job.planned, job.schedule)


def write_plans(job: LoadJob, folder: Path) -> list[WorkerPlan]:
    """Write what the workers need and return their plans."""
    for stale in (GO, *(READY.format(worker=n) for n in range(_MOST_WORKERS))):
        (folder / stale).unlink(missing_ok=True)
    places = {}
    with (folder / REQUESTS).open("wb") as stream:
        for request in job.planned:
            whole = job.target.head(len(request.body)) + request.body
            places[request.index] = (stream.tell(), len(whole))
            stream.write(whole)
    chains = chains_of(job.planned)
    workers = worker_count(job, len(chains))
    plans = []
    for number in range(workers):
        plan = _plan_of(job, chains, places, workers, number)
        plan.write(folder, number)
        plans.append(plan)
    return plans


def worker_count(job: LoadJob, chains: int) -> int:
    """How many workers share a load."""
    streams = job.schedule.streams or job.schedule.max_in_flight or chains
    wanted = job.workers or min(
        -(-streams // _STREAMS_PER_WORKER), max(1, (os.cpu_count() or 1) // 2), _MOST_WORKERS
    )
    least_streams = job.schedule.streams or chains
    return max(1, min(wanted, least_streams, chains))


def _plan_of(
    job: LoadJob,
    chains: Sequence[Sequence[PlannedRequest]],
    places: Mapping[int, tuple[int, int]],
    workers: int,
    number: int,
) -> WorkerPlan:
    mine = share(range(len(chains)), workers, number)
    requests: list[tuple[int, int, int, int]] = []
    positions = []
    for chain in mine:
        positions.append(tuple(range(len(requests), len(requests) + len(chains[chain]))))
        requests += [
            (request.index, *places[request.index], round(request.think_s * 1e9))
            for request in chains[chain]
        ]
    schedule = job.schedule
    closed = schedule.due_s is None
    streams = share(range(schedule.streams), workers, number)
    cap = -(-schedule.max_in_flight // workers) if schedule.max_in_flight else 0
    in_flight = len(streams) if closed else cap or len(mine)
    return WorkerPlan(
        host=job.target.host,
        port=job.target.port,
        scheme=job.target.scheme,
        proxy=job.target.proxy,
        requests=tuple(requests),
        chains=tuple(positions),
        due_ns=()
        if schedule.due_s is None
        else tuple(round(schedule.due_s[c] * 1e9) for c in mine),
        streams=len(streams),
        stagger_ns=_nanoseconds([schedule.stagger_s[s] for s in streams]),
        max_in_flight=cap,
        preconnect=min(in_flight, _MOST_PRECONNECTED if not closed else in_flight),
        limits=limits_of(job),
        core=job.cores[number % len(job.cores)] if job.cores else None,
    )


def _nanoseconds(seconds: Sequence[float]) -> tuple[int, ...]:
    return tuple(round(each * 1e9) for each in seconds)


def limits_of(job: LoadJob) -> Limits:
    """Deadlines in ns; for a load without one, what its requests need at the very most."""
    deadlines, schedule = job.deadlines, job.schedule
    load_s = deadlines.load_s
    if load_s is None:
        think_s = sum(request.think_s for request in job.planned)
        if schedule.due_s is not None and not schedule.max_in_flight:
            load_s = max(schedule.due_s) + deadlines.total_s + think_s
        else:
            lanes = schedule.streams or schedule.max_in_flight
            load_s = (len(job.planned) * deadlines.total_s + think_s) / lanes + deadlines.total_s
            load_s += max(schedule.due_s or schedule.stagger_s or (0.0,))
    return Limits(
        connect_ns=round(deadlines.connect_s * 1e9),
        idle_ns=round(deadlines.idle_s * 1e9),
        total_ns=round(deadlines.total_s * 1e9),
        load_ns=round((load_s + 1.0) * 1e9),
    )


def _start_together(folder: Path, services: Sequence[Service], watch: Callable[[], object]) -> None:
    deadline = time.monotonic() + _START_S
    waiting = set(range(len(services)))
    while waiting:
        watch()
        for number in list(waiting):
            if (folder / READY.format(worker=number)).exists():
                waiting.discard(number)
            elif services[number].returncode is not None:
                raise _failed(services[number], number)
        if waiting and time.monotonic() > deadline:
            msg = f"the load client was not ready within {_START_S:g} s"
            raise LoadError(msg)
        if waiting:
            time.sleep(0.002)
    start = time.monotonic_ns() + _LEAD_NS
    (folder / GO).write_text(f"{start}\n", encoding="ascii")


def _wait(folder: Path, services: Sequence[Service], watch: Callable[[], object]) -> None:
    while True:
        statuses = [service.returncode for service in services]
        for number, status in enumerate(statuses):
            if status not in {None, 0}:
                raise _failed(services[number], number, folder)
        if all(status == 0 for status in statuses):
            return
        watch()
        time.sleep(_POLL_S)


def _failed(service: Service, number: int, folder: Path | None = None) -> LoadError:
    reason = ""
    summary = folder / SUMMARY.format(worker=number) if folder else None
    if summary is not None and summary.exists():
        reason = json.loads(summary.read_text(encoding="ascii"))["failure"]
    text = f"load worker {number} ended with status {service.returncode}"
    tail = service.log_tail()
    text += f": {reason}" if reason else f"\n{tail}" if tail else ""
    hint = "its log could not be written; is the disk full?" if reason else None
    return LoadError(text, hint=hint)
