"""Direct packages that have a newer release and could not move to it, and the resolver's reason."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from gauntlet.core.errors import ConfigError, UsageError
from gauntlet.locks.compiling import CompileRequest
from gauntlet.locks.graph import LockGraph
from gauntlet.locks.index import Offered, Source
from gauntlet.locks.lock_file import parse_lock
from gauntlet.locks.manifest import Locks
from gauntlet.locks.resolver import Resolution
from gauntlet.locks.resolvers import resolver_for

_MOST_ASKED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Stuck:
    """A package that stayed behind ``newest``, and why."""

    name: str
    pinned: str
    newest: str
    why: str


def stuck_packages(
    locks: Locks, name: str, text: str, request: CompileRequest, source: Source
) -> tuple[Stuck, ...]:
    """Look for newer releases of the direct packages of a refreshed lock.

    The resolver is asked about a few of them only, which costs a resolution each.
    """
    lock = parse_lock(text, file=locks.relative(name))
    try:
        direct = sorted(LockGraph(lock).inputs)
    except UsageError:
        return ()
    found: list[Stuck] = []
    for package in direct:
        newest = newest_release(source.files(package))
        pinned = max(Version(pin.version) for pin in lock.by_name[package])
        if newest is None or newest <= pinned:
            continue
        asked = len(found) < _MOST_ASKED
        why = _why(locks, name, text, f"{package}=={newest}", request) if asked else "not asked"
        found.append(Stuck(name=package, pinned=str(pinned), newest=str(newest), why=why))
    return tuple(found)


def newest_release(files: Sequence[Offered]) -> Version | None:
    """The newest version that is no pre-release and that is not yanked; None without one."""
    versions = []
    for file in files:
        version = _version(file.name)
        if version is not None and not version.is_prerelease and file.yanked is None:
            versions.append(version)
    return max(versions, default=None)


def _version(file: str) -> Version | None:
    try:
        if file.endswith(".whl"):
            return parse_wheel_filename(file)[1]
        return parse_sdist_filename(file)[1]
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        return None


def _why(locks: Locks, name: str, text: str, held: str, request: CompileRequest) -> str:
    resolution = Resolution(
        root=locks.root,
        file=locks.relative(name),
        spec=locks.manifest.locks[name],
        python=locks.manifest.python_of(name),
        present=text,
        upgrade_all=True,
        held=(held,),
        find_links=tuple(Path(folder).resolve() for folder in request.find_links),
        offline=request.offline,
        hashes=False,
    )
    try:
        resolver_for(locks.manifest.resolver_of(name)).resolve(resolution)
    except ConfigError as error:
        return error.problems[0].message
    return "the resolver preferred newer versions of others"
