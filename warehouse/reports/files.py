"""Read the reports of many jobs at once: in processes of their own, straight into the spool.

Reading XML is the dearest part and parallel by nature; storing is the engine's work. So readers
fill the spool and the caller ships what is there meanwhile.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait as wait_for
from pathlib import Path
from typing import Literal

from gauntlet.warehouse.batch import Batch
from gauntlet.warehouse.reports.block import JobContext, names_batch, report_batch
from gauntlet.warehouse.reports.junit import parse_junit
from gauntlet.warehouse.reports.nodes import name_rows
from gauntlet.warehouse.reports.pytest_json import parse_pytest_json
from gauntlet.warehouse.reports.report import Report, UnreadableReportError
from gauntlet.warehouse.reports.source import file_chunks
from gauntlet.warehouse.retention import kept_days, whole_days
from gauntlet.warehouse.spool import Spool

_SENT_NAMES: set[bytes] = set()
_MOST_SENT_NAMES = 400_000

Kind = Literal["junit", "pytest-json"]

# About 150,000 results: large enough to insert at full speed, small enough to hold.
_PARCEL_BYTES = 16 << 20
# Parcels that are read while others are stored; more would only fill memory and disk.
_AHEAD = 3
# Starting processes takes longer than reading this much.
_WORTH_PROCESSES_BYTES = 16 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReports:
    """The reports of one job."""

    job: JobContext
    files: tuple[Path, ...]

    @property
    def size(self) -> int:
        """Bytes of all files; 0 for one that has gone."""
        return sum(path.stat().st_size for path in self.files if path.exists())


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadTotals:
    """What came of some jobs' reports; ``unreadable`` are files that gave nothing, and why."""

    results: int
    rejected: int
    repeated: int
    unreadable: tuple[str, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRequest:
    """How to read: which format, since when it is, and where the spool is (None: keep nothing)."""

    kind: Kind
    now: datetime
    spool: Path | None
    processes: int = max(1, os.cpu_count() or 1)


def read_reports(
    jobs: Sequence[JobReports], request: ReadRequest, on_parcel: Callable[[], object]
) -> Iterator[ReadTotals]:
    """Read every job's reports into the spool; yield what came of each parcel.

    ``on_parcel`` is called, in this process, whenever another parcel lies in the spool.
    Raises InfrastructureError where the disk refuses; what was kept before stays.
    """
    groups = list(_groups(jobs))
    if request.processes < 2 or sum(each.size for each in jobs) < _WORTH_PROCESSES_BYTES:
        for group in groups:
            yield read_group(group, request)
            on_parcel()
        return
    # Not by fork: the caller may hold connections and threads.
    with ProcessPoolExecutor(
        request.processes, mp_context=get_context("spawn"), initializer=_begin_reader
    ) as pool:
        running: set[Future[ReadTotals]] = set()
        waiting = iter(groups)
        while True:
            # No more than a few ahead, so that a full disk or a Ctrl-C ends soon.
            for group in islice(waiting, _AHEAD * request.processes - len(running)):
                running.add(pool.submit(read_group, group, request))
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
            on_parcel()


def _begin_reader() -> None:
    """Leave Ctrl-C to the parent, and end with it, however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is None:
        return
    sentinel = parent.sentinel

    def end_with_parent() -> None:
        wait_for([sentinel])
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()


def _groups(jobs: Sequence[JobReports]) -> Iterator[list[JobReports]]:
    group: list[JobReports] = []
    size = 0
    for each in jobs:
        if group and size + each.size > _PARCEL_BYTES:
            yield group
            group, size = [], 0
        group.append(each)
        size += each.size
    if group:
        yield group


def read_group(jobs: Sequence[JobReports], request: ReadRequest) -> ReadTotals:
    """Read some jobs' reports into one parcel of the spool: a batch for each job."""
    batches: list[Batch] = []
    names: dict[bytes, None] = {}
    unreadable, reasons = [], []
    results = rejected = repeated = 0
    for each in jobs:
        found = []
        for path in each.files:
            try:
                report = _read(path, request)
            except UnreadableReportError as error:
                unreadable.append(error.message)
                continue
            found.append((each.job, report))
            repeated += report.duplicates
            if report.zone_assumed and each.job.started_at is None:
                reasons.append(f"{path}: its timestamp has no time zone and is read as UTC")
            reasons += [
                f"{path}: {problem.position}: {'; '.join(problem.reasons)}"
                for problem in report.problems
            ]
        mine = (
            report_batch(found, source=request.kind, now=request.now, with_names=False)
            if found
            else []
        )
        if old := [batch for batch in mine if _expired(batch, request.now)]:
            day = max(day for batch in old for day in batch.days)
            unreadable.append(
                f"{', '.join(map(str, each.files))}: results of {day} are older than the"
                f" {kept_days('test_results')} days that they are kept"
            )
            mine = []
        if any(_passes_expired(batch, request.now) for batch in mine):
            reasons.append(
                f"{', '.join(map(str, each.files))}: older than the {whole_days('test_results')}"
                " days that passed results are kept; only the others stay"
            )
        for batch in mine:
            counts = batch.table_rows()
            results += counts.get("test_results", 0)
            rejected += counts.get("rejected_rows", 0)
        batches += mine
        names.update(_new_names(found if mine else []))
    if batches and request.spool is not None:
        if names:
            batches.insert(0, names_batch(names, source=request.kind, now=request.now))
        Spool(request.spool).add(*batches)
        # Safe on disk: this process need not send them again.
        _SENT_NAMES.update(names)
    return ReadTotals(
        results=results,
        rejected=rejected,
        repeated=repeated,
        unreadable=tuple(unreadable),
        reasons=tuple(reasons),
    )


def _new_names(found: Sequence[tuple[JobContext, Report]]) -> dict[bytes, None]:
    """Rows of ``tests`` that this process has not sent yet."""
    if len(_SENT_NAMES) > _MOST_SENT_NAMES:
        _SENT_NAMES.clear()
    return {
        row: None
        for job, report in found
        for row in name_rows(job.repository, report.nodeids)
        if row not in _SENT_NAMES
    }


def _expired(batch: Batch, now: datetime) -> bool:
    """Whether the store would drop the results at once; told here, they are not lost in silence."""
    return _older(batch, now, kept_days("test_results"))


def _passes_expired(batch: Batch, now: datetime) -> bool:
    return _older(batch, now, whole_days("test_results"))


def _older(batch: Batch, now: datetime, days: int | None) -> bool:
    return days is not None and any((now.date() - day).days >= days for day in batch.days)


def _read(path: Path, request: ReadRequest) -> Report:
    parse = parse_junit if request.kind == "junit" else parse_pytest_json
    return parse(file_chunks(path), origin=str(path), now=request.now)
