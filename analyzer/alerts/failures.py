"""Readings from what failed lately: full disks, broken installs, hubs that are down, fast failures.

Each is counted over a sliding window, now and before, so that a rule can ask how long it holds.
Pure.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from gauntlet.analyzer.alerts.model import Cause, Point, Reading

STEP = timedelta(minutes=5)
SERIES = timedelta(hours=2)
BREADTH_WINDOW = timedelta(hours=1)
DISK_WINDOW = timedelta(hours=3)

_FULL = re.compile(r"no space left|disk quota exceeded|\benospc\b|disk is full", re.IGNORECASE)
_MAY_BE_DISK = frozenset(
    {"infra_capacity", "infra_machine", "infra_agent", "image_build", "dependency", "unknown", ""}
)
_HOSTS = re.compile(r"\b((?:[a-z0-9-]+\.)+(?:com|org|io|net|co|cn|ai|dev))\b", re.IGNORECASE)
_PACKAGES = re.compile(
    r"(?:^|\.)(?:pypi\.org|pythonhosted\.org|anaconda\.(?:org|com)|ubuntu\.com|debian\.org"
    r"|npmjs\.(?:org|com)|docker\.(?:io|com)|ghcr\.io|quay\.io|nvcr\.io|crates\.io|golang\.org"
    r"|download\.pytorch\.org|maven\.org|rubygems\.org|gcr\.io|nvidia\.com)$",
    re.IGNORECASE,
)
_FAST = 0.1
_LONG_S = 300.0
_LEAST_FAST_JOBS = 2
_SHOWN = 5


class Failure(NamedTuple):
    """One attempt that failed; ``change`` is its pull request, else its commit."""

    at: datetime
    queue: str
    host: str
    job_key: str
    change: str
    failure_class: str
    signature: str
    line: str
    took_s: float | None


def failure_readings(
    failures: Sequence[Failure], usual_s: Mapping[str, float], now: datetime
) -> list[Reading]:
    """Read all four measures; ``usual_s`` is how long each job takes when it passes."""
    return [
        *_disk(failures, now),
        *_outages(failures, now),
        *_fast(failures, usual_s, now),
    ]


def _disk(failures: Iterable[Failure], now: datetime) -> Iterable[Reading]:
    found: dict[tuple[str, str], list[Failure]] = defaultdict(list)
    for failure in failures:
        if _is_disk(failure):
            # Where the host is not known, its queue stands for it.
            found[failure.host or f"queue {failure.queue}", failure.queue].append(failure)
    for (host, queue), theirs in found.items():
        series = _series(theirs, now, DISK_WINDOW, len)
        jobs = sorted({failure.job_key for failure in theirs})
        yield Reading(
            measure="disk-pressure",
            name=host,
            value=series[-1].value,
            reason=f"{series[-1].value:g} attempts ran out of disk on {host} within"
            f" {_hours(DISK_WINDOW)}: {_some(jobs)}",
            series=series,
            causes=(Cause(f"host/{host}"), Cause(f"disk of {queue}", 3)),
            queues=frozenset({queue}),
            facts={"queue": queue, "jobs": jobs[:_SHOWN], "line": theirs[-1].line},
        )


def _outages(failures: Iterable[Failure], now: datetime) -> Iterable[Reading]:
    found: dict[tuple[str, str, str], list[Failure]] = defaultdict(list)
    for failure in failures:
        if key := _outage_of(failure):
            found[key].append(failure)
    for (measure, name, cause), theirs in found.items():
        series = _series(theirs, now, BREADTH_WINDOW, _changes)
        recent = [failure for failure in theirs if failure.at > now - BREADTH_WINDOW]
        last = theirs[-1]
        yield Reading(
            measure=measure,
            name=name,
            value=series[-1].value,
            reason=f"{series[-1].value:g} unrelated changes failed alike within"
            f" {_hours(BREADTH_WINDOW)}: {(last.line or last.signature)[:200]}",
            series=series,
            causes=(Cause(cause),),
            queues=frozenset(failure.queue for failure in recent),
            facts={
                "signature": last.signature,
                "line": last.line[:500],
                "changes": sorted({failure.change for failure in recent})[:_SHOWN],
                "jobs": sorted({failure.job_key for failure in recent})[:_SHOWN],
            },
        )


def _outage_of(failure: Failure) -> tuple[str, str, str] | None:
    """Measure, name and cause of a failure from outside; None where it is none.

    Where the line names the service, the service is the cause: what was asked of it differs.
    """
    if _is_disk(failure):
        return None
    hosts = [host.lower() for host in _HOSTS.findall(f"{failure.line} {failure.signature}")]
    if failure.failure_class == "upstream_hub":
        name = hosts[0] if hosts else _short(failure.signature)
        return "hub-outage", name, f"hub {name}" if hosts else _same(failure)
    packages = next((host for host in hosts if _PACKAGES.search(host)), None)
    if failure.failure_class == "infra_network" and packages:
        return "broken-dependency", packages, f"packages {packages}"
    if failure.failure_class == "dependency" and failure.signature:
        return "broken-dependency", _short(failure.signature), _same(failure)
    return None


def _is_disk(failure: Failure) -> bool:
    said = f"{failure.line} {failure.signature}"
    return failure.failure_class in _MAY_BE_DISK and _FULL.search(said) is not None


def _fast(
    failures: Iterable[Failure], usual_s: Mapping[str, float], now: datetime
) -> Iterable[Reading]:
    """Jobs that end in a tenth of their time or less; of one signature, else of one queue."""
    found: dict[tuple[str, str], list[Failure]] = defaultdict(list)
    for failure in failures:
        usual = usual_s.get(failure.job_key)
        if failure.took_s is None or usual is None or usual < _LONG_S:
            continue
        if failure.took_s <= _FAST * usual:
            known = failure.signature and failure.failure_class not in ("", "unknown")
            name = _short(failure.signature) if known else failure.queue
            found[name, _same(failure) if known else f"fast on {failure.queue}"].append(failure)
    for (name, cause), theirs in found.items():
        series = _series(theirs, now, BREADTH_WINDOW, _fast_changes)
        last = theirs[-1]
        usual = usual_s[last.job_key]
        yield Reading(
            measure="fast-failures",
            name=name,
            value=series[-1].value,
            reason=f"jobs of {series[-1].value:g} unrelated changes failed far too fast within"
            f" {_hours(BREADTH_WINDOW)}: {last.job_key} after {last.took_s or 0:.0f} s, usually"
            f" {usual / 60:.0f} min",
            series=series,
            causes=(Cause(cause),),
            queues=frozenset(failure.queue for failure in theirs),
            facts={
                "jobs": sorted({failure.job_key for failure in theirs})[:_SHOWN],
                "changes": sorted({failure.change for failure in theirs})[:_SHOWN],
                "line": last.line[:500],
            },
        )


def _series(
    failures: Sequence[Failure],
    now: datetime,
    window: timedelta,
    measure: Callable[[list[Failure]], int],
) -> tuple[Point, ...]:
    points = []
    for number in range(int(SERIES / STEP), -1, -1):
        at = now - number * STEP
        inside = [failure for failure in failures if at - window < failure.at <= at]
        points.append(Point(at, float(measure(inside))))
    return tuple(points)


def _changes(failures: Iterable[Failure]) -> int:
    return len({failure.change for failure in failures})


def _fast_changes(failures: Sequence[Failure]) -> int:
    """Changes with a fast failure; one job alone is more likely broken than its surroundings."""
    jobs = {failure.job_key for failure in failures}
    return _changes(failures) if len(jobs) >= _LEAST_FAST_JOBS else 0


def _same(failure: Failure) -> str:
    return f"signature {failure.signature}"


def _short(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=4).hexdigest()


def _hours(window: timedelta) -> str:
    hours = window / timedelta(hours=1)
    return f"{hours:g} hour{'s' * (hours != 1)}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"
