"""What a bisect moves: packages at other versions, and how likely each is the culprit. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gauntlet.core.errors import UsageError
from gauntlet.locks.diff import PackageChange, diff_locks
from gauntlet.locks.graph import LockGraph
from gauntlet.locks.lock_file import LockFile, Pin
from gauntlet.locks.reading import LockSide

_STEPS = {"major": 4.0, "several": 3.0, "unknown": 3.0, "downgrade": 3.0, "minor": 2.0}
_NAMED_IN_LOG = 64.0
_DIRECT = 1.5
_LATEST = 1.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Two locks, and what can move between them.

    ``weights`` has each upgrade with its prior, the likeliest first. A package that an input
    names in one lock alone is an upgrade too; one that merely comes along with others is none.
    """

    old: LockFile
    new: LockFile
    changes: Mapping[str, PackageChange]
    weights: Mapping[str, float]

    def pins(self, name: str, *, new: bool) -> tuple[Pin, ...]:
        """Pins of a package in one of the two locks."""
        return (self.new if new else self.old).by_name.get(name, ())


def material(old: LockSide, new: LockSide, *, log: str = "") -> Material:
    """Find what can move. ``log`` is the text of a failure.

    Raises UsageError where nothing can, or a pin has no hash.
    """
    for lock in (old.lock, new.lock):
        for pin in lock.pins:
            if not pin.hashes:
                msg = f"{lock.file}:{pin.line}: {pin.name} has no hash"
                raise UsageError(msg, hint="compile it with hashes (--generate-hashes)")
    graphs = [LockGraph(lock) for lock in (old.lock, new.lock)]
    changes = {change.name: change for change in diff_locks(old, new).changes}
    moving = [change for change in changes.values() if _moves(change, graphs)]
    if not moving:
        msg = f"no package moved between {old.lock.file} and {new.lock.file}"
        raise UsageError(msg, hint="what broke the test is none of the locked packages")
    named = _names_in(log)
    weights = {change.name: _weight(change, moving, named) for change in moving}
    ordered = sorted(weights, key=lambda name: (-weights[name], name))
    return Material(
        old=old.lock,
        new=new.lock,
        changes=changes,
        weights={name: weights[name] for name in ordered},
    )


def _moves(change: PackageChange, graphs: Sequence[LockGraph]) -> bool:
    if change.kind == "added":
        return graphs[1].is_direct(change.name)
    if change.kind == "removed":
        return graphs[0].is_direct(change.name)
    return True


def _weight(change: PackageChange, moving: Sequence[PackageChange], named: set[str]) -> float:
    """Prior odds: named by the failure, then how far it moved, direct, released last."""
    weight = _STEPS.get(change.step, 1.0)
    weight *= _DIRECT if change.direct else 1.0
    dates = [other.new_released for other in moving if other.new_released]
    if dates and change.new_released == max(dates):
        weight *= _LATEST
    return weight * (_NAMED_IN_LOG if change.name in named else 1.0)


def _names_in(log: str) -> set[str]:
    """Words of a log as package names; a module's name stands for its package."""
    words = re.findall(r"[A-Za-z0-9][A-Za-z0-9_-]*", log)
    return {re.sub(r"[-_]+", "-", word).lower() for word in words}
