"""How what is installed differs from what is locked. Pure."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from packaging.markers import Marker
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from gauntlet.core.findings import Finding
from gauntlet.core.ids import digest
from gauntlet.locks.environment.installed import Installed, Package
from gauntlet.locks.lock_file import LockFile, Pin

Kind = Literal["version", "modified", "source", "twice", "missing", "extra"]
# The most telling first.
_ORDER: tuple[Kind, ...] = get_args(Kind)

# What makes an environment, and nothing that is measured imports.
INSTALLERS = frozenset({"pip", "setuptools", "uv", "wheel"})
_LENGTH = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One package that is not as the lock says. Empty ``locked`` or ``installed``: not there."""

    kind: Kind
    name: str
    locked: str = ""
    installed: str = ""
    detail: str = ""

    def __str__(self) -> str:
        if self.kind == "missing":
            return f"{self.name} is not installed, locked is {self.locked}"
        if self.kind == "extra":
            return f"{self.name} {self.installed} is not in the lock"
        if self.kind == "version":
            return f"{self.name} {self.installed}, locked is {self.locked}"
        return f"{self.name} {self.installed}: {self.detail}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """All differences between an environment and a lock, the most telling first."""

    lock: str
    differences: tuple[Difference, ...]
    compared: int

    @property
    def digest(self) -> str:
        """Identity of the drift; empty where there is none. Part of every result's identity."""
        if not self.differences:
            return ""
        return digest([[d.kind, d.name, d.locked, d.installed] for d in self.differences])[:_LENGTH]

    def findings(self) -> tuple[Finding, ...]:
        """One error for each difference, with what to do about it."""
        again = f"install again with: pip install --require-hashes -r {self.lock}"
        remedies: Mapping[Kind, str] = {
            "missing": again,
            "version": again,
            "extra": f"uninstall it, allow it with --allow {{name}}, or lock it in {self.lock}",
            "source": again,
            "twice": "remove the one that nothing imports, or make the environment anew",
            "modified": again.replace("install", "install --force-reinstall", 1),
        }
        return tuple(
            Finding(
                check=f"drift-{each.kind}",
                subject=each.name,
                message=str(each).removeprefix(each.name).strip(),
                remedy=remedies[each.kind].format(name=each.name),
            )
            for each in self.differences
        )


def find_drift(
    lock: LockFile,
    installed: Installed,
    *,
    allowed: Collection[str] = (),
    modified: Mapping[str, tuple[str, ...]] | None = None,
) -> Drift:
    """Compare an environment with a lock, for the markers of that very Python.

    ``allowed`` may be there beside the lock in any version: what is measured itself. ``modified``
    has files by package that are not what was installed.
    """
    beside = {canonicalize_name(name) for name in allowed} | INSTALLERS
    wanted = dict(_wanted(lock, installed.markers))
    found = [
        *_locked(wanted, installed),
        *_extra(wanted, installed, beside),
        *_twice(installed.hidden, installed),
        *_modified(modified or {}, installed),
    ]
    ordered = sorted(found, key=lambda each: (_ORDER.index(each.kind), each.name))
    return Drift(lock=lock.file, differences=tuple(ordered), compared=len(wanted))


def _wanted(lock: LockFile, markers: Mapping[str, str]) -> Iterator[tuple[str, Pin]]:
    environment = dict(markers) | {"extra": ""}
    for pin in lock.pins:
        if not pin.marker or Marker(pin.marker).evaluate(environment):
            yield pin.name, pin


def _locked(wanted: Mapping[str, Pin], installed: Installed) -> Iterator[Difference]:
    for name, pin in wanted.items():
        there = installed.by_name.get(name)
        if there is None:
            yield Difference(kind="missing", name=name, locked=pin.version)
        elif not _same(pin.version, there.version):
            yield Difference(kind="version", name=name, locked=pin.version, installed=there.version)
        elif there.source != "index":
            yield Difference(
                kind="source",
                name=name,
                locked=pin.version,
                installed=there.version,
                detail=f"installed from {_SOURCES[there.source]}, and not from an index",
            )


_SOURCES = {
    "editable": "a folder that is edited in place",
    "vcs": "a repository",
    "url": "an address",
    "file": "a file",
}


def _extra(
    wanted: Mapping[str, Pin], installed: Installed, beside: Collection[str]
) -> Iterator[Difference]:
    for package in installed.packages:
        if package.name not in wanted and package.name not in beside:
            yield Difference(kind="extra", name=package.name, installed=package.version)


def _twice(hidden: Iterable[Package], installed: Installed) -> Iterator[Difference]:
    for package in hidden:
        first = installed.by_name[package.name]
        where = "in the same folder" if package.where == first.where else "further down the path"
        yield Difference(
            kind="twice",
            name=package.name,
            installed=first.version,
            detail=f"there is {package.version} as well, {where}",
        )


def _modified(
    modified: Mapping[str, tuple[str, ...]], installed: Installed
) -> Iterator[Difference]:
    for name, files in modified.items():
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        if files:
            yield Difference(
                kind="modified",
                name=name,
                installed=installed.by_name[name].version,
                detail=f"{files[0]}{more} was changed after it was installed",
            )


def _same(one: str, other: str) -> bool:
    """Whether two versions are one; a lock without a local part says nothing about it.

    Wheels of one version for several accelerators differ in ``+cu130`` alone, and an index that
    has one of them pins none.
    """
    try:
        locked, there = Version(one), Version(other)
    except InvalidVersion:
        return one == other
    return locked == there or (locked.local is None and locked.public == there.public)
