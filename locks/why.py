"""Why a package is in a lock: through whom it came, and which line of an input names the root."""

import re
from collections.abc import Iterator
from pathlib import Path

from packaging.utils import canonicalize_name

from gauntlet.core.errors import unknown_name
from gauntlet.core.yaml_file import StrictModel, read_text
from gauntlet.locks.graph import LockGraph
from gauntlet.locks.lock_file import LockFile, load_lock
from gauntlet.locks.manifest import Locks

_MOST_PATHS = 5
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_OF_INPUT = re.compile(r"-r\s+(?P<file>.+)|.*\((?P<project>[^:)]+)[^)]*\)")


class PinnedAs(StrictModel):
    """One version of a package in a lock, and where it is installed."""

    version: str
    marker: str = ""


class Why(StrictModel):
    """A package in one lock. ``paths`` go from an input down to it, the shortest first.

    ``named`` has ``file:line`` of the inputs that name the roots of those paths.
    """

    lock: str
    package: str
    pinned: tuple[PinnedAs, ...]
    paths: tuple[tuple[str, ...], ...]
    named: tuple[str, ...]


def why(locks: Locks, package: str, names: tuple[str, ...] = ()) -> tuple[Why, ...]:
    """Look a package up in the locks of a manifest.

    Raises UsageError with the nearest name where no lock has it.
    """
    wanted = canonicalize_name(package)
    read = {name: load_lock(locks.path(name)) for name in locks.manifest.pick(names)}
    having = {name: lock for name, lock in read.items() if wanted in lock.by_name}
    if not having:
        known = {name for lock in read.values() for name in lock.by_name}
        error = unknown_name("package", package, known)
        if len(known) > 20:
            error.message = error.message.partition(" Known: ")[0]
        error.message += f" No lock of {', '.join(read)} has it."
        raise error
    return tuple(_why(locks, name, lock, wanted) for name, lock in having.items())


def why_lines(found: Why) -> Iterator[str]:
    """The same, for people."""
    for pin in found.pinned:
        where = f"  where {pin.marker}" if pin.marker else ""
        yield f"{found.lock}: {found.package}=={pin.version}{where}"
    for path in found.paths:
        yield f"  {' -> '.join(path)}"
    for place in found.named:
        yield f"  asked for at {place}"


def _why(locks: Locks, name: str, lock: LockFile, package: str) -> Why:
    paths = LockGraph(lock).paths(package, limit=_MOST_PATHS)
    named = (place for way in paths for place in _places(locks.root, way[0], way[1]))
    return Why(
        lock=name,
        package=package,
        pinned=tuple(
            PinnedAs(version=pin.version, marker=pin.marker) for pin in lock.by_name[package]
        ),
        paths=tuple(paths),
        named=tuple(dict.fromkeys(named)),
    )


def _places(root: Path, source: str, package: str) -> Iterator[str]:
    """Lines of an input that name a package; of ``pyproject.toml``, in any of its lists."""
    match = _OF_INPUT.fullmatch(source)
    file = (match["file"] or match["project"]) if match else None
    if file is None or not (root / file).is_file():
        return
    for number, line in enumerate(read_text(root / file).splitlines(), start=1):
        found = _NAME.match(line.strip().lstrip("\"'"))
        if found and canonicalize_name(found[0]) == package:
            yield f"{file}:{number}"
