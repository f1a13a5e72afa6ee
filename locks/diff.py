"""What changed between two locks, package by package. Pure."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Literal

from packaging.version import InvalidVersion, Version

from gauntlet.core.errors import UsageError
from gauntlet.core.yaml_file import StrictModel
from gauntlet.locks.graph import LockGraph
from gauntlet.locks.lock_file import LockFile, Pin
from gauntlet.locks.reading import LockSide
from gauntlet.locks.record import IndexRecord
from gauntlet.warehouse.rows.base import UtcTime

Kind = Literal["added", "removed", "changed", "markers", "hashes-only"]
Step = Literal["major", "minor", "patch", "downgrade", "several", "unknown", ""]
_NEVER = datetime.max.replace(tzinfo=UTC)


class PackageChange(StrictModel):
    """A package that differs. ``released`` is when a version came out, None where nobody says.

    ``markers`` says that only where it is installed, or its extras, changed; ``hashes-only`` that
    the same version has other files. ``direct`` and ``through`` (the direct packages that bring
    it) are of the new lock, or of the old one for what was removed; None and empty where the lock
    has no annotations.
    """

    name: str
    kind: Kind
    old: str | None = None
    new: str | None = None
    step: Step = ""
    old_released: UtcTime | None = None
    new_released: UtcTime | None = None
    direct: bool | None = None
    through: tuple[str, ...] = ()

    @property
    def versions(self) -> str:
        """``old -> new``, for people."""
        return f"{self.old or '(none)'} -> {self.new or '(none)'}"


class LockDiff(StrictModel):
    """All that differs. ``hashes_only`` repeats the packages whose files changed alone."""

    old: str
    new: str
    changes: tuple[PackageChange, ...]
    hashes_only: tuple[str, ...] = ()
    annotated: bool = True


def diff_locks(old: LockSide, new: LockSide) -> LockDiff:
    """Compare two locks, by name."""
    graphs = (_graph(old.lock), _graph(new.lock))
    changes = tuple(
        _described(name, kind, old, new, graphs) for name, kind in changed_names(old.lock, new.lock)
    )
    return LockDiff(
        old=old.lock.file,
        new=new.lock.file,
        changes=changes,
        hashes_only=tuple(change.name for change in changes if change.kind == "hashes-only"),
        annotated=None not in graphs,
    )


def changed_names(old: LockFile, new: LockFile) -> list[tuple[str, Kind]]:
    """Names of packages that differ, sorted, each with how."""
    found: list[tuple[str, Kind]] = []
    for name in sorted({*old.by_name, *new.by_name}):
        before, after = old.by_name.get(name, ()), new.by_name.get(name, ())
        kind = _kind(before, after)
        if kind is not None:
            found.append((name, kind))
    return found


def by_release(changes: Iterable[PackageChange]) -> list[PackageChange]:
    """The same, by when what is new came out; what nobody dates comes last."""
    return sorted(changes, key=lambda change: (change.new_released or _NEVER, change.name))


def step_between(old: str, new: str) -> Step:
    """How far a version moved: by the first part of its release that differs."""
    if "|" in old or "|" in new:
        return "several"
    try:
        before, after = Version(old), Version(new)
    except InvalidVersion:
        return "unknown"
    if before == after:
        return ""
    if after < before:
        return "downgrade"
    if (before.epoch, before.major) != (after.epoch, after.major):
        return "major"
    return "minor" if before.minor != after.minor else "patch"


def _kind(before: Sequence[Pin], after: Sequence[Pin]) -> Kind | None:
    if not before:
        return "added"
    if not after:
        return "removed"
    if {pin.version for pin in before} != {pin.version for pin in after}:
        return "changed"
    if _places(before) != _places(after):
        return "markers"
    return "hashes-only" if _hashes(before) != _hashes(after) else None


def _places(pins: Iterable[Pin]) -> set[tuple[str, str, tuple[str, ...]]]:
    return {(pin.version, pin.marker, pin.extras) for pin in pins}


def _hashes(pins: Iterable[Pin]) -> set[tuple[str, str, frozenset[str]]]:
    return {(pin.version, pin.marker, frozenset(pin.hashes)) for pin in pins}


def _described(
    name: str,
    kind: Kind,
    old: LockSide,
    new: LockSide,
    graphs: tuple[LockGraph | None, LockGraph | None],
) -> PackageChange:
    before, after = old.lock.versions.get(name), new.lock.versions.get(name)
    graph = graphs[0] if after is None else graphs[1]
    return PackageChange(
        name=name,
        kind=kind,
        old=before,
        new=after,
        step=step_between(before, after) if before and after else "",
        old_released=_released(old, new.record, name),
        new_released=_released(new, old.record, name),
        direct=graph.is_direct(name) if graph else None,
        through=graph.through(name) if graph else (),
    )


def _released(side: LockSide, other: IndexRecord, name: str) -> datetime | None:
    """When the latest of a lock's versions came out; the other record may know it too."""
    dates = []
    for pin in side.lock.by_name.get(name, ()):
        known = side.record.packages.get(pin.key) or other.packages.get(pin.key)
        if known is not None and known.released is not None:
            dates.append(known.released)
    return max(dates, default=None)


def _graph(lock: LockFile) -> LockGraph | None:
    """The graph of a lock that has annotations; a diff is useful without it and says so."""
    try:
        return LockGraph(lock)
    except UsageError:
        return None
