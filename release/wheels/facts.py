"""What a wheel holds, read by parsing alone: nothing is unpacked, nothing in it is run."""

import hashlib
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO

from packaging.tags import Tag
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from gauntlet.core.errors import NotQualifiedError
from gauntlet.core.ids import file_digest
from gauntlet.release.wheels.elf import ElfFacts, read_elf
from gauntlet.release.wheels.metadata import WheelMetadata, read_metadata, read_wheel_file
from gauntlet.release.wheels.record import Hashed, record_problems

_CHUNK = 1 << 20
# Also an unknown compression, a password, and sizes that cannot be.
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError)
_ELF_MAGIC = b"\x7fELF"
# A wheel of an engine has some thousand members and unpacks to at most two or three times its size.
_MOST_MEMBERS = 200_000
_MOST_UNPACKED = 32 << 30
_MOST_RATIO = 200
_RATIO_COUNTS_FROM = 256 << 20
_MOST_TEXT = 32 << 20


class WheelError(NotQualifiedError):
    """A file that is no wheel, or too damaged or too dangerous to say more about it.

    ``check`` names the check that it fails, ``remedy`` what to do.
    """

    def __init__(self, check: str, path: Path, message: str, *, remedy: str) -> None:
        super().__init__(f"{path}: {message}", hint=remedy)
        self.check = check
        self.reason = message
        self.remedy = remedy


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One file in a wheel."""

    name: str
    size_bytes: int
    compressed_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileName:
    """What the name of a wheel says; tags are a set, since compressed tag sets are."""

    name: str
    version: Version
    tags: frozenset[Tag]

    @property
    def variant(self) -> str:
        """The local version label; empty where there is none."""
        return self.version.local or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelFacts:
    """One wheel. ``named`` is what its file name says, the rest what is in it."""

    path: Path
    sha256: str
    size_bytes: int
    named: FileName
    members: tuple[Member, ...]
    hashes: tuple[Hashed, ...]
    """Of every member."""
    metadata: WheelMetadata
    metadata_bytes: bytes
    """``METADATA`` as it stands, as an index hands it out."""
    tags: frozenset[Tag]
    """As the ``WHEEL`` file gives them."""
    is_purelib: bool | None
    """``Root-Is-Purelib``; None where the ``WHEEL`` file does not say."""
    record_problems: tuple[str, ...]
    elf: tuple[ElfFacts, ...]


def parse_name(path: Path) -> FileName:
    """Read a wheel's file name; raises WheelError where it is none."""
    try:
        name, version, _, tags = parse_wheel_filename(path.name)
    except InvalidWheelFilename as error:
        remedy = "name it NAME-VERSION-PYTHON-ABI-PLATFORM.whl, as the build did"
        raise WheelError("wheel-name", path, str(error), remedy=remedy) from error
    return FileName(name=name, version=version, tags=tags)


def read_wheel(path: Path) -> WheelFacts:
    """Read a wheel whole, in bounded memory, and check each member against ``RECORD``.

    Raises WheelError for what is no wheel: a bad name, a damaged or hostile archive, no metadata.
    """
    named = parse_name(path)
    with _reading(path):
        size_bytes = path.stat().st_size
        with zipfile.ZipFile(path) as archive:
            found = _contents(archive, path)
    metadata, wheel = read_metadata(found.texts["METADATA"]), read_wheel_file(found.texts["WHEEL"])
    return WheelFacts(
        path=path,
        sha256=file_digest(path),
        size_bytes=size_bytes,
        named=named,
        members=found.members,
        hashes=found.hashes,
        metadata=metadata,
        metadata_bytes=found.texts["METADATA"],
        tags=wheel.tags,
        is_purelib=wheel.is_purelib,
        record_problems=record_problems(found.dist_info, found.texts["RECORD"], found.hashes),
        elf=found.elf,
    )


def metadata_bytes(path: Path) -> bytes:
    """Read a wheel's ``METADATA`` and nothing else of it; raises WheelError as `read_wheel`."""
    with _reading(path), zipfile.ZipFile(path) as archive:
        _refuse_hostile(archive.infolist(), path)
        entries = [entry for entry in archive.infolist() if not entry.is_dir()]
        return _text(archive, f"{_dist_info(entries, path)}/METADATA", path)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn what a damaged or absent file leads to into a WheelError."""
    try:
        yield
    except _DAMAGED as error:
        message = f"damaged or no zip archive: {error}"
        remedy = "build it, or fetch it, again"
        raise WheelError("wheel-readable", path, message, remedy=remedy) from error
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        raise WheelError("wheel-readable", path, message, remedy="give a readable file") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Contents:
    members: tuple[Member, ...]
    hashes: tuple[Hashed, ...]
    elf: tuple[ElfFacts, ...]
    dist_info: str
    texts: dict[str, bytes]


def _contents(archive: zipfile.ZipFile, path: Path) -> _Contents:
    entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    _refuse_hostile(archive.infolist(), path)
    dist_info = _dist_info(entries, path)
    hashes, elf = [], []
    for entry in entries:
        with archive.open(entry) as stream:
            hashed, found = _read_member(entry, stream)
        hashes.append(hashed)
        elf += [found] if found is not None else []
    return _Contents(
        members=tuple(
            Member(name=e.filename, size_bytes=e.file_size, compressed_bytes=e.compress_size)
            for e in entries
        ),
        hashes=tuple(hashes),
        elf=tuple(elf),
        dist_info=dist_info,
        texts={
            name: _text(archive, f"{dist_info}/{name}", path)
            for name in ("METADATA", "WHEEL", "RECORD")
        },
    )


def _refuse_hostile(entries: list[zipfile.ZipInfo], path: Path) -> None:
    """Stop before anything is read that would fill the memory or leave its folder."""
    unpacked = sum(entry.file_size for entry in entries)
    packed = sum(entry.compress_size for entry in entries)
    refuse = partial(
        WheelError, "wheel-readable", path, remedy="do not install it; ask who made it"
    )
    if len(entries) > _MOST_MEMBERS:
        raise refuse(f"{len(entries)} members, at most {_MOST_MEMBERS} are read")
    bomb = unpacked > _RATIO_COUNTS_FROM and unpacked > _MOST_RATIO * max(packed, 1)
    if unpacked > _MOST_UNPACKED or bomb:
        raise refuse(f"{packed} bytes unpack to {unpacked}: that is a bomb, no wheel")
    seen: set[str] = set()
    for entry in entries:
        parts = PurePosixPath(entry.filename).parts
        odd = "\\" in entry.orig_filename or "\0" in entry.orig_filename
        if not parts or odd or ".." in parts or parts[0].startswith("/") or ":" in parts[0]:
            raise refuse(f"member {entry.orig_filename!r} would be written outside its folder")
        if entry.filename in seen:
            raise refuse(f"two members are named {entry.filename!r}")
        seen.add(entry.filename)


def _dist_info(entries: list[zipfile.ZipInfo], path: Path) -> str:
    tops = {PurePosixPath(entry.filename).parts[0] for entry in entries}
    found = sorted(top for top in tops if top.endswith(".dist-info"))
    if len(found) != 1:
        message = f"one .dist-info folder is needed, found: {', '.join(found) or 'none'}"
        raise WheelError("wheel-readable", path, message, remedy="build it again")
    return found[0]


def _text(archive: zipfile.ZipFile, name: str, path: Path) -> bytes:
    try:
        entry = archive.getinfo(name)
    except KeyError as error:
        message = f"{name} is missing"
        raise WheelError("wheel-readable", path, message, remedy="build it again") from error
    if entry.file_size > _MOST_TEXT:
        message = f"{name} has {entry.file_size} bytes, at most {_MOST_TEXT} are read"
        raise WheelError("wheel-readable", path, message, remedy="build it again")
    return archive.read(entry)


def _read_member(entry: zipfile.ZipInfo, stream: IO[bytes]) -> tuple[Hashed, ElfFacts | None]:
    """Hash a member in one pass; programs and libraries are kept on disk while they are parsed."""
    digest = hashlib.sha256()
    first = stream.read(_CHUNK)
    if not first.startswith(_ELF_MAGIC):
        for chunk in _chunks(first, stream):
            digest.update(chunk)
        return Hashed(entry.filename, digest.digest(), entry.file_size), None
    with tempfile.TemporaryFile() as copy:
        for chunk in _chunks(first, stream):
            digest.update(chunk)
            copy.write(chunk)
        found = read_elf(entry.filename, copy)
    return Hashed(entry.filename, digest.digest(), entry.file_size), found


def _chunks(first: bytes, stream: IO[bytes]) -> Iterator[bytes]:
    yield first
    yield from iter(partial(stream.read, _CHUNK), b"")
