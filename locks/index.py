"""Build the record of what is locked: from the package index, or from a folder of wheels."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from packaging.metadata import RawMetadata
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from gauntlet.core.errors import ConfigError, Problem, UsageError
from gauntlet.locks.lock_file import LockFile
from gauntlet.locks.metadata import build_requirements, read_metadata
from gauntlet.locks.record import IndexRecord, Recorded

_AT_ONCE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """One file that a source offers. ``sha256`` is hex; ``size`` in bytes, 0 where not known."""

    name: str
    sha256: str
    size: int = 0
    released: datetime | None = None
    requires_python: str = ""
    yanked: str | None = None

    @property
    def is_wheel(self) -> bool:
        """Whether it is a wheel, and no source distribution."""
        return self.name.endswith(".whl")


class Source(Protocol):
    """Where files of packages are. Raises ExternalServiceError where it does not answer."""

    def files(self, name: str) -> Sequence[Offered]:
        """Every file of a project, by its canonical name; none where there is no such project."""

    def wheel_metadata(self, name: str, file: Offered) -> str:
        """Text of METADATA of a wheel."""

    def sdist_texts(self, name: str, file: Offered) -> tuple[str, str]:
        """Text of PKG-INFO and of pyproject.toml of a source distribution; empty where absent."""


def wanted_by(locks: Sequence[LockFile]) -> dict[str, frozenset[str]]:
    """Hashes (``sha256:...``) of every version that any lock pins, by ``name==version``."""
    found: dict[str, frozenset[str]] = {}
    for lock in locks:
        for pin in lock.pins:
            found[pin.key] = found.get(pin.key, frozenset()) | frozenset(pin.hashes)
    return found


def update_record(
    known: IndexRecord, wanted: Mapping[str, frozenset[str]], source: Source
) -> IndexRecord:
    """Record what is wanted and nothing else; entries whose hashes are known stay as they are.

    Raises ConfigError for a version that the source does not have, ExternalServiceError where it
    does not answer.
    """
    kept = {
        key: known.packages[key]
        for key, hashes in wanted.items()
        if key in known.packages and hashes == hashes_of(known.packages[key])
    }
    missing = [key for key in wanted if key not in kept]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        try:
            made = dict(
                zip(missing, pool.map(lambda key: _record(key, source), missing), strict=True)
            )
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return IndexRecord(packages={**kept, **made})


def hashes_of(recorded: Recorded) -> frozenset[str]:
    """Hashes of a recorded version, written as locks write them."""
    return frozenset(f"sha256:{digest}" for digest in recorded.files.values())


def _record(key: str, source: Source) -> Recorded:
    name, _, version = key.partition("==")
    files = [file for file in source.files(name) if _is_of(file.name, name, version)]
    if not files:
        msg = "the package index does not have it"
        raise ConfigError([Problem(file="index.json", key=key, message=msg)])
    raw, needs = _metadata(name, files, source)
    times = [file.released for file in files if file.released]
    requires = None if raw is None else tuple(raw.get("requires_dist", ()))
    python = next((file.requires_python for file in files if file.requires_python), "")
    return Recorded(
        files={file.name: file.sha256 for file in sorted(files, key=lambda file: file.name)},
        requires=requires,
        requires_python=python or ((raw or {}).get("requires_python") or ""),
        extras=tuple(canonicalize_name(extra) for extra in (raw or {}).get("provides_extra", ())),
        released=min(times, default=None),
        yanked=next((file.yanked for file in files if file.yanked is not None), None),
        build_requires=needs,
    )


def _metadata(
    name: str, files: Sequence[Offered], source: Source
) -> tuple[RawMetadata | None, tuple[str, ...] | None]:
    """Metadata of a version, and what building it needs where source is all that there is."""
    wheels = sorted((file for file in files if file.is_wheel), key=_preference)
    if wheels:
        return read_metadata(source.wheel_metadata(name, wheels[0])), None
    info, project = source.sdist_texts(name, files[0])
    raw = read_metadata(info) if info else None
    if raw is not None and not _says_requirements(raw):
        raw = None
    return raw, build_requirements(project)


def _preference(wheel: Offered) -> tuple[int, int]:
    """Wheels of one version may require other things on other systems: Linux counts here."""
    platform = wheel.name.removesuffix(".whl").rpartition("-")[2]
    if platform == "any" or ("linux" in platform and "x86_64" in platform):
        return 0, wheel.size
    return (1 if "linux" in platform else 2), wheel.size


def _says_requirements(raw: RawMetadata) -> bool:
    """Whether metadata of a source distribution is what its wheel will say (PEP 643)."""
    dynamic = {field.lower() for field in raw.get("dynamic", ())}
    version = tuple(int(part) for part in raw.get("metadata_version", "1.0").split("."))
    return "requires-dist" not in dynamic and (version >= (2, 2) or "requires_dist" in raw)


def _is_of(file: str, name: str, version: str) -> bool:
    try:
        if file.endswith(".whl"):
            found, of, _, _ = parse_wheel_filename(file)
        else:
            found, of = parse_sdist_filename(file)
        return found == name and of == Version(version)
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        return False


def nowhere_to_look() -> UsageError:
    """The error for ``--no-index`` without a folder."""
    msg = "--no-index leaves no source of packages"
    return UsageError(msg, hint="give folders of wheels: --find-links DIR")


def source_for(find_links: Sequence[Path] = (), *, offline: bool = False) -> Source:
    """The package index that this machine is set to, with folders before it, or these alone."""
    from gauntlet.locks.sources import Both, Folders, PackageIndex

    if offline:
        return Folders(find_links)
    return Both(Folders(find_links), PackageIndex()) if find_links else PackageIndex()
