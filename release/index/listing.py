"""What is in the folder of an index: files by commit, and which commit each name points to."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.utils import InvalidSdistFilename, parse_sdist_filename
from packaging.version import InvalidVersion, Version

from gauntlet.core.errors import ConfigError, InfrastructureError, Problem
from gauntlet.core.files import write_atomic
from gauntlet.core.ids import file_digest
from gauntlet.release.wheels.facts import metadata_bytes, parse_name
from gauntlet.release.wheels.metadata import read_metadata
from gauntlet.release.wheels.sdist import SDIST_SUFFIX, UNREADABLE, pkg_info

COMMIT = re.compile(r"^[0-9a-f]{7,40}$")
NIGHTLY = "nightly"
POINTERS = "_pointers"
"""Folder with one file for each name (``nightly``, ``1.2.0``): two writers never lose one."""
_BUILT_AT = re.compile(r"^g[0-9a-f]{7,40}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexFile:
    """One wheel or sdist of a commit. ``metadata`` is a wheel's; an sdist hands out none."""

    commit: str
    name: str
    project: str
    """Normalised."""
    version: Version
    tags: tuple[str, str, str] = ("", "", "")
    """Python, ABI and platform as the name gives them, which may be sets; empty for an sdist."""
    sha256: str
    size_bytes: int
    changed_ns: int
    """When the file was last written."""
    requires_python: str = ""
    metadata: bytes | None = None

    @property
    def variant(self) -> str:
        """Which index it belongs to: ``cu129``; empty for the default one."""
        return variant_of(self.version)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """All that pages are made from; equal listings give equal pages."""

    files: tuple[IndexFile, ...] = ()
    commits: frozenset[str] = frozenset()
    pointers: Mapping[str, str]
    """Commit of ``nightly`` and of each version."""


def variant_of(version: Version) -> str:
    """Read the variant from a local label; a leading ``g1234567`` only says what was built."""
    parts = (version.local or "").split(".")
    return ".".join(parts[1:] if _BUILT_AT.match(parts[0]) else parts)


def read_listing(root: Path, *, known: Listing | None = None) -> Listing:
    """List an index's folder; files that are as ``known`` has them are not read again.

    Raises WheelError for a file that is no wheel, ConfigError for a damaged pointer,
    InfrastructureError where the folder cannot be read.
    """
    before = {_key(root / f.commit / f.name, f): f for f in known.files} if known else {}
    try:
        folders = sorted(p for p in root.iterdir() if p.is_dir() and COMMIT.match(p.name))
        files = [
            before.get(_key(path)) or _file(path)
            for folder in folders
            for path in sorted(folder.iterdir())
            if path.is_file() and path.name.endswith((".whl", SDIST_SUFFIX))
        ]
    except OSError as error:
        msg = f"cannot read {error.filename or root}: {error.strerror}"
        raise InfrastructureError(msg) from error
    return Listing(
        files=tuple(files),
        commits=frozenset(folder.name for folder in folders),
        pointers=_read_pointers(root / POINTERS),
    )


def pointed(listing: Listing, changes: Mapping[str, str | None]) -> Listing:
    """Listing as it will be when pointers are set, or taken away where None is given."""
    pointers = {**listing.pointers, **changes}
    kept = {name: commit for name, commit in pointers.items() if commit is not None}
    return replace(listing, pointers=kept)


def write_pointers(root: Path, changes: Mapping[str, str | None]) -> None:
    """Keep changes of pointers, each in a file of its own."""
    for name, commit in changes.items():
        path = root / POINTERS / name
        if commit is None:
            path.unlink(missing_ok=True)
        else:
            write_atomic(path, f"{commit}\n", fsync=True)


def _key(path: Path, file: IndexFile | None = None) -> tuple[Path, int, int]:
    if file is not None:
        return path, file.size_bytes, file.changed_ns
    found = path.stat()
    return path, found.st_size, found.st_mtime_ns


def _read_pointers(folder: Path) -> dict[str, str]:
    found, problems = {}, []
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.name.startswith("."):
            continue
        commit = path.read_text(encoding="utf-8", errors="replace").strip()
        if not COMMIT.match(commit):
            message = "expected a commit"
            problems.append(Problem(file=str(path), line=1, message=message, value=repr(commit)))
        elif path.name != NIGHTLY and not _is_final(path.name):
            message = "the file's name is neither nightly nor a final version"
            problems.append(Problem(file=str(path), message=message))
        else:
            found[path.name] = commit
    if problems:
        raise ConfigError(problems, hint="write the commit there, or delete the file")
    return found


def _is_final(text: str) -> bool:
    try:
        version = Version(text)
    except InvalidVersion:
        return False
    return str(version) == text and not version.is_prerelease and version.local is None


def _file(path: Path) -> IndexFile:
    if path.name.endswith(SDIST_SUFFIX):
        return _sdist(path)
    named, status = parse_name(path), path.stat()
    metadata = metadata_bytes(path)
    python, abi, platform = path.name.removesuffix(".whl").split("-")[-3:]
    return IndexFile(
        commit=path.parent.name,
        name=path.name,
        project=named.name,
        version=named.version,
        tags=(python, abi, platform),
        sha256=file_digest(path),
        size_bytes=status.st_size,
        changed_ns=status.st_mtime_ns,
        requires_python=read_metadata(metadata).requires_python,
        metadata=metadata,
    )


def _sdist(path: Path) -> IndexFile:
    status = path.stat()
    try:
        name, version = parse_sdist_filename(path.name)
        said = read_metadata(pkg_info(path))
    except (InvalidSdistFilename, *UNREADABLE) as error:
        hint = "build it again, or take it out of the index"
        raise ConfigError([Problem(file=str(path), message=str(error))], hint=hint) from error
    return IndexFile(
        commit=path.parent.name,
        name=path.name,
        project=name,
        version=version,
        sha256=file_digest(path),
        size_bytes=status.st_size,
        changed_ns=status.st_mtime_ns,
        requires_python=said.requires_python,
    )
