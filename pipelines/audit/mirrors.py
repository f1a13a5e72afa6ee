"""A rule about mirrors that have grown apart from the job that they mirror."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from gauntlet.pipelines.audit.model import AuditInput, Finding
from gauntlet.pipelines.audit.runs import Invocation, what_runs
from gauntlet.pipelines.audit.written import WrittenJob

# What a name of a test says of the hardware that it is for.
_HARDWARE = {
    "amd": re.compile(r"amd|rocm|hip|aiter|gfx\w+|mi\d+\w*"),
    "nvidia": re.compile(r"nvidia|cuda|nccl|cutlass|cutedsl|flashinfer|hopper|blackwell|sm\d+"),
    "intel": re.compile(r"intel|xpu|hpu"),
}
_SEPARATOR = re.compile(r"[/_.\-]")


@dataclass(frozen=True, slots=True)
class _Pair:
    """A mirror, the job that it mirrors, and who made the hardware of each."""

    mirror: WrittenJob
    parent: WrittenJob
    mirror_vendor: str | None
    parent_vendor: str | None


def mirror_drift(audit: AuditInput) -> Iterator[Finding]:
    """Yield what a mirror does not do as its parent does: tests, time limit, when it runs.

    On the same hardware any test counts. On other hardware, one that only the parent runs counts
    where no other job on the mirror's runs it, and one that only the mirror runs where no job
    elsewhere does; neither where its name says that it is for the hardware that runs it, or
    where the other job has a counterpart.
    """
    runs = {written.job.key: _tests(written, audit) for written in audit.jobs}
    by_vendor: dict[str | None, set[str]] = defaultdict(set)
    for written in audit.jobs:
        by_vendor[audit.vendor(written)] |= runs[written.job.key]
    for pair in _pairs(audit):
        mine, theirs = runs[pair.mirror.job.key], runs[pair.parent.job.key]
        if pair.mirror_vendor == pair.parent_vendor:
            differences = _same_hardware(mine, theirs)
        else:
            differences = _other_hardware(pair, mine, theirs, by_vendor)
        for path, message in differences:
            yield _finding(pair, path, "commands", message)
        if mine >= theirs:
            yield from _limits(pair)
        yield from _tiers(pair)


def _same_hardware(mine: frozenset[str], theirs: frozenset[str]) -> Iterator[tuple[str, str]]:
    for path in sorted(theirs - mine):
        yield path, f"its parent runs {path}, it does not"
    for path in sorted(mine - theirs):
        yield path, f"runs {path}, its parent does not"


def _other_hardware(
    pair: _Pair,
    mine: frozenset[str],
    theirs: frozenset[str],
    by_vendor: Mapping[str | None, set[str]],
) -> Iterator[tuple[str, str]]:
    lacking = theirs - mine - by_vendor[pair.mirror_vendor]
    for path in _telling(lacking, mine, pair.parent_vendor):
        yield path, f"its parent runs {path}, no {pair.mirror_vendor} job does"
    elsewhere = (tests for vendor, tests in by_vendor.items() if vendor != pair.mirror_vendor)
    for path in _telling(mine.difference(*elsewhere), theirs, pair.mirror_vendor):
        yield path, f"runs {path}, no job on other hardware does"


def _tests(written: WrittenJob, audit: AuditInput) -> frozenset[str]:
    own = Invocation(written.job.commands, written.job.working_dir)
    return what_runs((own,), audit.tree, audit.scripts).files


def _pairs(audit: AuditInput) -> Iterator[_Pair]:
    for written in audit.jobs:
        parent = audit.by_key.get(written.job.mirror_of or "")
        if parent is not None:
            yield _Pair(written, parent, audit.vendor(written), audit.vendor(parent))


def _telling(paths: Iterable[str], others: Iterable[str], vendor: str | None) -> list[str]:
    """Leave out tests for the hardware of ``vendor``, and those that have a counterpart."""
    counterparts = {_neutral(path) for path in others}
    hardware = _HARDWARE.get(vendor or "")
    return [
        path
        for path in sorted(paths)
        if _neutral(path) not in counterparts
        and not (hardware and any(map(hardware.fullmatch, _SEPARATOR.split(path))))
    ]


def _neutral(path: str) -> tuple[str, ...]:
    """The words of a path without those that name hardware."""
    return tuple(
        word
        for word in _SEPARATOR.split(path)
        if not any(hardware.fullmatch(word) for hardware in _HARDWARE.values())
    )


def _limits(pair: _Pair) -> Iterator[Finding]:
    """Compare time limits of a pair of which the mirror runs no less than the parent."""
    mine, theirs = pair.mirror.job.timeout_in_minutes, pair.parent.job.timeout_in_minutes
    if mine and theirs and mine * 2 < theirs:
        message = f"may take {mine} min, its parent {theirs} min for the same tests"
        yield _finding(pair, "timeout_in_minutes", "timeout_in_minutes", message)


def _tiers(pair: _Pair) -> Iterator[Finding]:
    mine, theirs = pair.mirror.job.optional, pair.parent.job.optional
    if mine != theirs:
        message = "is optional, its parent is not" if mine else "is not optional, its parent is"
        yield _finding(pair, "optional", "optional", message)


def _finding(pair: _Pair, subject: str, key: str, message: str) -> Finding:
    return Finding(
        rule="mirror-drift",
        file=pair.mirror.job.file,
        line=pair.mirror.line(key),
        job=pair.mirror.job.key,
        subject=subject,
        message=message,
    )
