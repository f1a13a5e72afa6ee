"""Classify failed attempts of the warehouse, and write down what they were."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from gauntlet.analyzer.failures.engine import scan
from gauntlet.analyzer.failures.evidence import BREADTH, Evidence, classify, with_breadth
from gauntlet.analyzer.failures.model import Circumstances, Classification
from gauntlet.analyzer.failures.rules import RuleSet
from gauntlet.core.clock import utc_now
from gauntlet.warehouse.batch import Batch, content_id
from gauntlet.warehouse.delivery import deliver
from gauntlet.warehouse.reports.report import UnreadableReportError
from gauntlet.warehouse.reports.source import file_chunks
from gauntlet.warehouse.rows.ci import JobFailureRow
from gauntlet.warehouse.store import open_store

CLASSIFIER = "gauntlet-rules"
_PER_BATCH = 1000
_NEAR = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRequest:
    """Which attempts to classify: those of the last ``days``; ``dry_run`` writes nothing."""

    location: str
    days: int
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFailure:
    """One attempt, where its log was read, and what it was."""

    job_id: UUID
    log: str
    sha: str
    branch: str
    finished: Any
    told: Classification
    version: int


def classifier_name(rules: RuleSet) -> str:
    """Name of this classifier: with the digest of its rules, as other rules judge differently."""
    return f"{CLASSIFIER}/1-{rules.digest}"


def classify_stored(request: StoredRequest, rules: RuleSet) -> list[StoredFailure]:
    """Classify what no person and not this classifier did; write it unless it is a dry run.

    Raises what the store refuses with.
    """
    name = classifier_name(rules)
    with open_store(request.location) as store:
        rows = store.query("unclassified_failures", classifier=name, days=request.days)
    found = breadth([_classified(row, rules) for row in rows])
    if not request.dry_run and found:
        deliver(request.location, batches(found, name))
    return found


def breadth(found: Sequence[StoredFailure]) -> list[StoredFailure]:
    """Count each signature on other changes within an hour, and judge again by that."""
    alike: dict[str, list[StoredFailure]] = defaultdict(list)
    for each in found:
        if each.told.signature:
            alike[each.told.signature].append(each)
    return [_widened(each, alike.get(each.told.signature, ())) for each in found]


def batches(found: Iterable[StoredFailure], classifier: str) -> Iterator[Batch]:
    """Make batches; the same verdicts about the same attempts are the same batch."""
    rows = [_row(each, classifier) for each in found]
    for start in range(0, len(rows), _PER_BATCH):
        some = rows[start : start + _PER_BATCH]
        parts = [row.model_dump_json().encode() for row in some]
        yield Batch.of(
            content_id("classify", *parts), some, source="classify", created_at=utc_now()
        )


def _classified(row: Mapping[str, Any], rules: RuleSet) -> StoredFailure:
    circumstances = Circumstances(
        state=row["state"],
        exit_status=row["exit_status"],
        signal=row["signal"],
        signal_reason=row["signal_reason"],
        soft_failed=row["soft_failed"],
    )
    path = Path(row["location"]) if row["location"] else None
    whole = path is not None and path.is_file()
    told = None
    if whole and path is not None:
        try:
            told = _of_chunks(file_chunks(path), circumstances, row, rules)
        except UnreadableReportError:
            whole = False
    if told is None:
        told = _of_remains(circumstances, row, rules)
    return StoredFailure(
        job_id=UUID(str(row["job_id"])),
        log=str(path) if whole else f"job {row['job_id']}",
        sha=row["sha"],
        branch=row["branch"],
        finished=row["finished_at"],
        told=told,
        version=row["failure_version"] + 1,
    )


def _of_chunks(
    chunks: Iterable[bytes], circumstances: Circumstances, row: Mapping[str, Any], rules: RuleSet
) -> Classification:
    evidence = Evidence(
        circumstances=circumstances, scan=scan(chunks, rules), failed_tests=row["failed_tests"]
    )
    return classify(evidence)


def _of_remains(
    circumstances: Circumstances, row: Mapping[str, Any], rules: RuleSet
) -> Classification:
    """Judge by what the store keeps of a log: its error lines, then its last lines.

    A line number is one of the whole log, or None where the line is of the end.
    """
    errors = [str(line).replace("\n", " ") for line in row["error_lines"]]
    text = "\n".join([*errors, row["tail"]])
    if not text.strip():
        return classify(Evidence(circumstances=circumstances, failed_tests=row["failed_tests"]))
    told = _of_chunks([text.encode()], circumstances, row, rules)
    place = None
    if told.line is not None:
        numbers = row["error_line_numbers"]
        tail_first = row["lines"] - row["tail"].count("\n")
        inside = told.line <= len(errors)
        place = numbers[told.line - 1] if inside else tail_first + told.line - len(errors) - 1
    return _moved(told, place if place is None or place >= 1 else None)


def _moved(told: Classification, line: int | None) -> Classification:
    why = "its whole log is not to be had: judged by its error lines and its end"
    return replace(told, line=line, reasons=(*told.reasons, why))


def _widened(each: StoredFailure, alike: Sequence[StoredFailure]) -> StoredFailure:
    if len(alike) < BREADTH or each.finished is None:
        return each
    near = [a for a in alike if a.finished is not None and abs(a.finished - each.finished) <= _NEAR]
    # Attempts on one branch belong to one change, however often it was pushed.
    changes = {a.sha if a.branch in ("main", "master") else a.branch for a in near}
    return replace(each, told=with_breadth(each.told, len(changes)))


def _row(each: StoredFailure, classifier: str) -> JobFailureRow:
    return JobFailureRow(
        job_id=each.job_id,
        failure_class=each.told.failure_class,
        signature=each.told.signature,
        line_number=each.told.line,
        line=each.told.text,
        wrong_exit_code=each.told.wrong_exit_code,
        classifier=classifier,
        version=each.version,
    )
