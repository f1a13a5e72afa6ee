"""Check locks: every check that there is, on every lock, and say which could not be run."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from gauntlet.core.clock import Stopwatch
from gauntlet.core.errors import ConfigError, InfrastructureError
from gauntlet.core.findings import Finding
from gauntlet.core.yaml_file import read_text
from gauntlet.locks.checks.advisories import (
    Advisory,
    Hit,
    check_acceptances,
    check_advisories,
    hits_of,
)
from gauntlet.locks.checks.hashes import check_hashes, check_tampered, check_unrecorded
from gauntlet.locks.checks.header import check_header, check_index_host
from gauntlet.locks.checks.held import check_holds
from gauntlet.locks.checks.inputs import input_files
from gauntlet.locks.checks.platforms import (
    check_closure,
    check_platform,
    check_python,
    check_yanked,
)
from gauntlet.locks.checks.sdists import check_sdist_covered
from gauntlet.locks.checks.stale import check_stale
from gauntlet.locks.checks.subject import Subject
from gauntlet.locks.header import constraints_of, lock_command, program
from gauntlet.locks.lock_file import load_lock
from gauntlet.locks.manifest import Locks, Resolver
from gauntlet.locks.record import IndexRecord, load_record
from gauntlet.locks.reproducing import Reproduced, check_reproduced
from gauntlet.locks.resolvers import resolver_for

_AT_ONCE = 2
_CHECKS: tuple[Callable[[Subject], list[Finding]], ...] = (
    check_header,
    check_index_host,
    check_hashes,
    check_tampered,
    check_unrecorded,
    check_platform,
    check_closure,
    check_sdist_covered,
    check_python,
    check_yanked,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRequest:
    """Which locks to check, with which advisories.

    ``resolver`` runs commands again in place of the one that each header names.
    """

    names: tuple[str, ...]
    today: date
    advisories: tuple[Advisory, ...] | None = None
    resolver: Resolver | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LockReport:
    """What was found of one lock; ``not_run`` says which checks were not, and why.

    ``at_its_word`` are pins whose requirements were taken from the lock itself.
    """

    name: str
    pins: int = 0
    platforms: tuple[str, ...] = ()
    seconds: float = 0.0
    findings: tuple[Finding, ...] = ()
    not_run: tuple[str, ...] = ()
    at_its_word: tuple[str, ...] = ()
    hits: tuple[Hit, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """What was found of all of them, and of the folder as such."""

    locks: tuple[LockReport, ...]
    folder: tuple[Finding, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, those of the folder last."""
        return (*(each for report in self.locks for each in report.findings), *self.folder)

    @property
    def not_run(self) -> tuple[str, ...]:
        """All checks that were not run."""
        return tuple(each for report in self.locks for each in report.not_run)


def check_locks(locks: Locks, request: CheckRequest) -> CheckReport:
    """Check the locks that were asked for. Raises ConfigError for a broken record or hold file."""
    names = locks.manifest.pick(request.names)
    record = load_record(locks.record)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        reports = tuple(pool.map(lambda name: _check(locks, name, record, request), names))
    return CheckReport(locks=reports, folder=tuple(_of_folder(locks, reports, request)))


def _check(locks: Locks, name: str, record: IndexRecord, request: CheckRequest) -> LockReport:
    watch = Stopwatch()
    spec = locks.manifest.locks[name]
    empty = LockReport(name=name, platforms=spec.platforms)
    if not locks.path(name).exists():
        finding = _unreadable(locks, name, "it has not been compiled yet")
        return replace(empty, findings=(finding,))
    try:
        subject = subject_of(locks, name, record)
        report = _findings(locks, subject, request)
    except ConfigError as error:
        broken = [_unreadable(locks, name, str(problem)) for problem in error.problems]
        return replace(empty, findings=tuple(broken), seconds=watch.seconds)
    return replace(report, seconds=watch.seconds)


def subject_of(locks: Locks, name: str, record: IndexRecord) -> Subject:
    """Read a lock and all that it is made from. Raises ConfigError for what cannot be read."""
    spec, file = locks.manifest.locks[name], locks.relative(name)
    python = locks.manifest.python_of(name)
    constraints = constraints_of(locks.root, file, spec)
    chosen = locks.manifest.resolver_of(name)
    return Subject(
        name=name,
        spec=spec,
        python=python,
        lock=load_lock(locks.path(name), file=file),
        record=record,
        command=lock_command(chosen, locks.root, file, spec, python),
        texts=input_files(spec, constraints, lambda path: _read(locks.root, path)),
    )


def _findings(locks: Locks, subject: Subject, request: CheckRequest) -> LockReport:
    found = [finding for check in _CHECKS for finding in check(subject)]
    constraints = constraints_of(locks.root, subject.lock.file, subject.spec)
    stale = check_stale(subject, constraints)
    hits = hits_of(subject, request.advisories or ())
    found += stale
    found += check_advisories(subject, hits, locks.manifest.accepted, request.today)
    again, not_run = _reproduce(locks, subject, request, known=bool(stale))
    return LockReport(
        name=subject.name,
        pins=len(subject.lock.pins),
        platforms=subject.spec.platforms,
        findings=(*found, *again.findings),
        at_its_word=again.at_its_word,
        not_run=not_run,
        hits=tuple(hits),
    )


def _reproduce(
    locks: Locks, subject: Subject, request: CheckRequest, *, known: bool
) -> tuple[Reproduced, tuple[str, ...]]:
    """Run the command again; what only repeats a stale input is left out."""
    unrecorded = [pin.key for pin in subject.lock.pins if subject.recorded(pin) is None]
    if unrecorded:
        reason = f"{unrecorded[0]} is not recorded" + (
            f", nor are {len(unrecorded) - 1} more" if len(unrecorded) > 1 else ""
        )
        return Reproduced(findings=()), (f"{subject.name}: reproduced: {reason}",)
    chosen = program(subject.lock.command) or locks.manifest.resolver_of(subject.name)
    try:
        again = check_reproduced(subject, locks.root, resolver_for(request.resolver or chosen))
    except InfrastructureError as error:
        reason = f"{error.message} ({error.hint or 'try again'})"
        return Reproduced(findings=()), (f"{subject.name}: reproduced: {reason}",)
    if known:
        others = [each for each in again.findings if "finds no answer" not in each.message]
        again = replace(again, findings=tuple(others))
    return again, ()


def _of_folder(locks: Locks, reports: Sequence[LockReport], request: CheckRequest) -> list[Finding]:
    found = []
    if locks.holds.exists():
        file = locks.holds.relative_to(locks.root).as_posix()
        found += check_holds(read_text(locks.holds), file, request.today)
    if request.advisories is not None and not request.names:
        hits = [hit for report in reports for hit in report.hits]
        found += check_acceptances(locks.manifest.accepted, hits, locks.file)
    return found


def _unreadable(locks: Locks, name: str, message: str) -> Finding:
    return Finding(
        check="readable",
        subject=locks.relative(name),
        message=message,
        remedy=f"gauntlet locks compile {name}",
    )


def _read(root: Path, path: str) -> str:
    try:
        return read_text(root / path)
    except ConfigError as error:
        problems = [replace(problem, file=path) for problem in error.problems]
        raise ConfigError(problems) from error
