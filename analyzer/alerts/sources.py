"""Readings from a warehouse and its spool; what cannot be read is said, not passed over."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from gauntlet.analyzer.alerts.failures import Failure, failure_readings
from gauntlet.analyzer.alerts.machines import host_readings
from gauntlet.analyzer.alerts.model import Known, Reading, Unread
from gauntlet.analyzer.alerts.nightlies import nightly_reading
from gauntlet.analyzer.alerts.queues import Agents, queue_readings
from gauntlet.core.errors import ExitCode, GauntletError
from gauntlet.warehouse.spool import Spool
from gauntlet.warehouse.store import Store

_STEPS, _STEP_S, _WEEKS = 25, 300, 4
_BLIND_S = 3600.0
_BLIND_FACTOR = 1.5
_STAMP = "%Y%m%dT%H%M%S%f"
_MIB = 1 << 20

FLEET = (
    "bad-host",
    "hub-outage",
    "broken-dependency",
    "disk-pressure",
    "fast-failures",
    "queue-wait",
)
"""Measures that say nothing where no news of jobs arrives."""


@dataclass(slots=True)
class Look:
    """What one look found: readings, what could not be read, and the hosts of each queue."""

    readings: list[Reading] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    hosts_of: dict[str, set[str]] = field(default_factory=dict)


def look(store: Store, spool: Path, known: tuple[Known, ...], *, now: datetime, ago_s: int) -> Look:
    """Read everything that is watched. ``now`` is ``ago_s`` seconds ago."""
    found = Look()
    try:
        blind = _blind(store, ago_s)
    except GauntletError as error:
        blind = error.message
    if blind is not None:
        found.unread += [Unread(measure=measure, reason=blind) for measure in FLEET]
    else:
        _read(found, ("queue-wait",), lambda: _queues(store, now, ago_s))
        _read(found, FLEET[1:5], lambda: _failures(store, now, ago_s))
        _read(found, ("bad-host",), lambda: _hosts(found, store, known, now, ago_s))
    _read(found, ("missing-nightly",), lambda: _nightlies(store, now, ago_s))
    _read(found, ("spool-age", "spool-size"), lambda: spool_readings(spool, now))
    return found


def _read(found: Look, measures: tuple[str, ...], reader: Callable[[], list[Reading]]) -> None:
    """Read, and note what could not be: one source that fails must not hide the others."""
    try:
        found.readings += reader()
    except GauntletError as error:
        found.unread += [
            Unread(measure=measure, reason=error.message, exit_code=error.exit_code)
            for measure in measures
        ]
    except OSError as error:
        reason = f"{error.filename}: {error.strerror}"
        found.unread += [
            Unread(measure=measure, reason=reason, exit_code=ExitCode.INFRASTRUCTURE)
            for measure in measures
        ]


def _blind(store: Store, ago_s: int) -> str | None:
    """Why nothing can be said of the fleet now; None where the news is fresh enough.

    A fleet that sleeps at the weekend may be silent half as long again as it ever was.
    """
    (row,) = store.query("fleet_pulse", ago_s=ago_s)
    if row["newest"] is None:
        return "the warehouse has no job of the last 14 days: gauntlet ingest buildkite"
    longest_s = max(_BLIND_S, _BLIND_FACTOR * 3600 * int(row["silent_hours"]))
    if row["age_s"] <= longest_s:
        return None
    return (
        f"the newest job of the warehouse is of {row['newest']:%F %R} UTC,"
        f" {row['age_s'] / 3600:.1f} hours old: is `gauntlet ingest buildkite` running?"
    )


def _queues(store: Store, now: datetime, ago_s: int) -> list[Reading]:
    sizes = {"steps": _STEPS, "step_s": _STEP_S, "weeks": _WEEKS}
    waiting = store.query("waiting_at", ago_s=ago_s, **sizes)
    queues = [str(row["queue"]) for row in store.query("known_queues", ago_s=ago_s)]
    agents = {
        str(row["queue"]): Agents(
            row["agents_total"], row["agents_idle"], float(row["age_s"]) - ago_s
        )
        for row in store.query("queues_now")
    }
    return queue_readings(queues, waiting, agents, now, **sizes)


def _failures(store: Store, now: datetime, ago_s: int) -> list[Reading]:
    failures = [_failure(row) for row in store.query("recent_failures", ago_s=ago_s)]
    keys = sorted({failure.job_key for failure in failures if failure.took_s is not None})
    usual: Mapping[str, float] = {}
    if keys:
        rows = store.query("usual_seconds", job_keys="\n".join(keys), ago_s=ago_s)
        usual = {str(row["job_key"]): float(row["p50_s"]) for row in rows}
    return failure_readings(failures, usual, now)


def _failure(row: Mapping[str, Any]) -> Failure:
    return Failure(
        at=row["ended_at"],
        queue=str(row["queue"]),
        host=str(row["host"]),
        job_key=str(row["job_key"]),
        change=str(row["change"]),
        failure_class=str(row["failure_class"]),
        signature=str(row["signature"]),
        line=str(row["line"]),
        took_s=None if row["took_s"] is None else float(row["took_s"]),
    )


def _hosts(
    found: Look, store: Store, known: tuple[Known, ...], now: datetime, ago_s: int
) -> list[Reading]:
    readings, found.hosts_of = host_readings(store.query("fleet_attempts", ago_s=ago_s), known, now)
    return readings


def _nightlies(store: Store, now: datetime, ago_s: int) -> list[Reading]:
    starts: dict[str, list[datetime]] = defaultdict(list)
    for row in store.query("nightly_starts", ago_s=ago_s):
        starts[str(row["name"])].append(row["start"])
    readings = (nightly_reading(name, theirs, now) for name, theirs in starts.items())
    return [reading for reading in readings if reading is not None]


def spool_readings(folder: Path, now: datetime) -> list[Reading]:
    """Read what waits in the local spool: the age of the oldest batch, and the bytes of all."""
    ages, sizes = [0.0], [0]
    for parcel in Spool(folder).pending():
        try:
            sizes.append(parcel.path.stat().st_size)
        except FileNotFoundError:
            continue  # shipped meanwhile
        ages.append((now - _written(parcel.path)) / timedelta(minutes=1))
    count, size = len(ages) - 1, sum(sizes) / _MIB
    reason = (
        f"{count} batches ({size:.1f} MiB) wait in {folder}, the oldest for {max(ages):.0f} min"
        if count
        else f"nothing waits in {folder}"
    )
    facts = {"folder": str(folder), "batches": count}
    return [
        Reading(measure=measure, name=name, value=round(value, 3), reason=reason, facts=facts)
        for measure, name, value in (
            ("spool-age", "main", max(ages)),
            ("spool-size", "size", size),
        )
    ]


def _written(path: Path) -> datetime:
    """When a batch was made, as its name says; a file of another name has its own time."""
    try:
        return datetime.strptime(path.name.split("-", 1)[0], _STAMP).replace(tzinfo=UTC)
    except ValueError:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC)
