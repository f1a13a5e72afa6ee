"""Test reports of many jobs, as batches: columns in, bytes that ClickHouse reads out.

A row object for each of millions of tests a day would cost more than all the rest together. So
the results of a job become one block of columns (see ``native``), and only
what did not plainly pass, or was refused, becomes rows.
"""

import json
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from uuid import UUID

import numpy as np

from gauntlet.core.errors import UsageError
from gauntlet.core.ids import canonical_json
from gauntlet.warehouse.batch import Batch, Section, batch_number, content_id
from gauntlet.warehouse.reports.native import (
    RESULT_COLUMNS,
    ResultColumns,
    encode_results,
)
from gauntlet.warehouse.reports.nodes import NAME_COLUMNS, ids_of, name_rows
from gauntlet.warehouse.reports.report import (
    MOST_OCCURRENCES,
    CaseDetail,
    Outcome,
    Rejection,
    Report,
    occurrences_of,
)
from gauntlet.warehouse.rows.base import Row
from gauntlet.warehouse.rows.ci import TestDetailRow
from gauntlet.warehouse.rows.ingest import RejectedRow

MOST_ROWS = 50_000
_json_text = json.encoder.encode_basestring
_WORDS = {int(outcome): outcome.word for outcome in Outcome}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobContext:
    """What is known of the job that wrote a report; it stands beside each of its results."""

    job_id: UUID
    repository: str
    sha: str
    branch: str
    job_key: str
    queue: str
    started_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Results:
    """The results of one job, or a part of them; ``details`` count from its own first row.

    ``names`` are the rows of ``tests`` that the results refer to, one for each result. ``told``
    is when the job started as far as anybody said so; ``started_at`` is what is stored.
    """

    job: JobContext
    told: datetime | None
    started_at: datetime
    names: Sequence[bytes]
    columns: ResultColumns
    details: Sequence[CaseDetail]
    problems: Sequence[tuple[str, Rejection]]

    def content(self) -> bytes:
        """Everything that came in, and nothing that depends on when it did."""
        job = self.job
        said = [
            *(job.repository, str(job.job_id), job.sha, job.branch, job.job_key, job.queue),
            str(self.told),
            [[d.index, d.message, d.text, d.file, d.line] for d in self.details],
            [[origin, p.position, p.raw] for origin, p in self.problems],
        ]
        columns = self.columns
        return canonical_json(said).encode() + b"".join(
            column.tobytes()
            for column in (
                columns.test_ids,
                columns.occurrences,
                columns.outcomes,
                columns.durations_ms,
            )
        )


def report_batch(
    reports: Sequence[tuple[JobContext, Report]],
    *,
    source: str,
    now: datetime,
    with_names: bool = True,
) -> list[Batch]:
    """Make batches of at most ``MOST_ROWS`` results; a job is split only where it has more.

    All reports of a job must be given in one call: together they number the occurrences of a
    test, and a report that comes twice under two names counts once. All results of a job carry
    the instant at which it started: what the context says, else its reports, else ``now``. The
    same reports give batches of the same id whenever they are sent. ``with_names=False`` leaves
    the tests' names to ``names_batch``.
    Raises UsageError where one job comes with two contexts, or with a time without a zone.
    """
    found = [_results(job, mine, now) for job, mine in _by_job(reports)]
    return [_batch(group, source, now, with_names=with_names) for group in _groups(found)]


def names_batch(rows: Iterable[bytes], *, source: str, now: datetime) -> Batch:
    """Make a batch of rows of ``tests``, as ``name_rows`` gives them.

    Reports repeat the same names without end; who reads many of them sends each name once.
    """
    ordered = sorted(rows)
    batch_id = content_id(f"{source}-names", *ordered)
    section = _named(ordered, batch_number(batch_id))
    return Batch.of(batch_id, (), source=source, created_at=now, blocks=[section])


def _by_job(
    reports: Sequence[tuple[JobContext, Report]],
) -> Iterator[tuple[JobContext, list[Report]]]:
    contexts: dict[UUID, JobContext] = {}
    found: dict[UUID, list[Report]] = {}
    for job, report in reports:
        if job.started_at is not None and job.started_at.tzinfo is None:
            msg = f"job {job.job_id}: started_at {job.started_at.isoformat()} has no time zone"
            raise UsageError(msg, hint="give an instant with a zone, such as 2026-01-01T12:00:00Z")
        if contexts.setdefault(job.job_id, job) != job:
            msg = f"job {job.job_id} comes with two contexts: {contexts[job.job_id]} and {job}"
            raise UsageError(msg, hint="all reports of a job share its context")
        mine = found.setdefault(job.job_id, [])
        if not any(_same(report, other) for other in mine):
            mine.append(report)
    for job_id, mine in found.items():
        yield contexts[job_id], mine


def _same(one: Report, other: Report) -> bool:
    """Whether two files are one report: the same results of a run that says when it began."""
    return one.started_at is not None and replace(one, origin=other.origin) == other


def _results(job: JobContext, reports: Sequence[Report], now: datetime) -> _Results:
    """Put the reports of one job together."""
    told = job.started_at or min((r.started_at for r in reports if r.started_at), default=None)
    told = told and told.astimezone(UTC)
    started_at = (told or now).astimezone(UTC)
    started_at = started_at.replace(microsecond=started_at.microsecond // 1000 * 1000)
    problems = [(report.origin, problem) for report in reports for problem in report.problems]
    nodeids = [nodeid for report in reports for nodeid in report.nodeids]
    details: list[CaseDetail] = []
    before = 0
    for report in reports:
        details += _shifted(report.details, before)
        before += len(report.nodeids)
    occurrences = reports[0].occurrences if len(reports) == 1 else occurrences_of(nodeids)
    if occurrences.size and occurrences.max() >= MOST_OCCURRENCES:
        msg = f"job {job.job_id}: more than {MOST_OCCURRENCES} results of one test"
        raise UsageError(msg, hint="give the reports of one attempt of a job only")
    names = name_rows(job.repository, nodeids)
    return _Results(
        job=job,
        told=told,
        started_at=started_at,
        names=names,
        columns=ResultColumns(
            test_ids=ids_of(names),
            occurrences=occurrences.astype(np.uint16),
            outcomes=np.concatenate([report.outcomes for report in reports]),
            durations_ms=np.concatenate([report.durations_ms for report in reports]),
        ),
        details=details,
        problems=problems,
    )


def _groups(found: Sequence[_Results]) -> Iterator[list[_Results]]:
    """Fill batches in the order of the jobs; one that is too large is cut into several."""
    group: list[_Results] = []
    rows = 0
    for results in found:
        count = len(results.names)
        if group and rows + count > MOST_ROWS:
            yield group
            group, rows = [], 0
        if count > MOST_ROWS:
            yield from ([part] for part in _cut(results))
        elif count or results.problems:
            group.append(results)
            rows += count
    if group:
        yield group


def _cut(results: _Results) -> Iterator[_Results]:
    columns = results.columns
    for start in range(0, len(results.names), MOST_ROWS):
        rows = slice(start, start + MOST_ROWS)
        first, last = (
            bisect_left(results.details, place, key=lambda detail: detail.index)
            for place in (rows.start, rows.stop)
        )
        yield replace(
            results,
            names=results.names[rows],
            columns=ResultColumns(
                test_ids=columns.test_ids[rows],
                occurrences=columns.occurrences[rows],
                outcomes=columns.outcomes[rows],
                durations_ms=columns.durations_ms[rows],
            ),
            details=_shifted(results.details[first:last], -start),
            problems=[] if start else results.problems,
        )


def _shifted(details: Sequence[CaseDetail], by: int) -> Sequence[CaseDetail]:
    """Details of cases that stand further down."""
    if not by:
        return details
    return [CaseDetail(d.index + by, d.message, d.text, d.file, d.line) for d in details]


def _batch(group: Sequence[_Results], source: str, now: datetime, *, with_names: bool) -> Batch:
    batch_id = content_id(source, *(results.content() for results in group))
    number = batch_number(batch_id)
    rows: list[Row] = []
    for results in group:
        rows += _rejected_rows(results, source, now)
    blocks = []
    if any(results.names for results in group):
        blocks = [_names(group, number)] if with_names else []
        blocks.append(_test_results(group, number))
    if details := _details(group, number):
        blocks.append(details)
    return Batch.of(
        batch_id,
        rows,
        source=source,
        created_at=now,
        blocks=blocks,
        days={results.started_at.date() for results in group if results.names},
    )


def _names(group: Sequence[_Results], number: int) -> Section:
    """The distinct tests of a batch."""
    distinct: Collection[bytes] = group[0].names
    if len(group) > 1 or group[0].columns.occurrences.any():
        distinct = dict.fromkeys(chain.from_iterable(results.names for results in group))
    return _named(distinct, number)


def _named(rows: Collection[bytes], number: int) -> Section:
    batch = number.to_bytes(8, "little")
    return Section(
        table="tests",
        columns=NAME_COLUMNS,
        format="RowBinary",
        rows=len(rows),
        payload=batch.join(rows) + batch,
    )


def _test_results(group: Sequence[_Results], number: int) -> Section:
    return Section(
        table="test_results",
        columns=RESULT_COLUMNS,
        format="Native",
        rows=sum(len(results.names) for results in group),
        payload=b"".join(
            encode_results(
                results.columns,
                job_id=results.job.job_id,
                labels=(
                    *(results.job.sha, results.job.branch),
                    *(results.job.job_key, results.job.queue),
                ),
                started_at=results.started_at,
                batch=number,
            )
            for results in group
        ),
    )


def _details(group: Sequence[_Results], number: int) -> Section | None:
    """What cases said, as JSON lines; there are too many for a model each."""
    lines: list[str] = []
    for results in group:
        columns = results.columns
        places = [detail.index for detail in results.details]
        # In the order of the columns: what differs, what is the job's, the batch's number.
        tail = (
            f'"job_id":"{results.job.job_id}","started_at":"{results.started_at:%Y-%m-%dT%H:%M:%S.%fZ}"'
            f',"batch":{number}}}\n'
        )
        for detail, test_id, occurrence, outcome in zip(
            results.details,
            columns.test_ids[places].tolist(),
            columns.occurrences[places].tolist(),
            columns.outcomes[places].tolist(),
            strict=True,
        ):
            line = "null" if detail.line is None else detail.line
            lines.append(
                f'{{"test_id":{test_id},"occurrence":{occurrence},"outcome":"{_WORDS[outcome]}"'
                f',"message":{_json_text(detail.message)},"text":{_json_text(detail.text)}'
                f',"file":{_json_text(detail.file)},"line":{line},{tail}'
            )
    if not lines:
        return None
    return Section(
        table=TestDetailRow.table,
        columns=(*TestDetailRow.model_fields, "batch"),
        format="JSONEachRow",
        rows=len(lines),
        payload="".join(lines).encode(),
    )


def _rejected_rows(results: _Results, source: str, now: datetime) -> Iterator[RejectedRow]:
    for origin, problem in results.problems:
        yield RejectedRow(
            source=source,
            # Jobs call their reports alike; without the job they would be one rejection.
            origin=f"{results.job.job_id}/{origin}",
            position=problem.position,
            target="test_results",
            reasons=problem.reasons,
            raw=problem.raw,
            at=now,
        )
