"""Metadata of wheels and source distributions, out of their files."""

import tarfile
import tomllib
import zipfile
from pathlib import PurePosixPath
from typing import IO

from packaging.metadata import RawMetadata, parse_email

# What pip builds with where a source distribution has no [build-system] (PEP 518).
_LEGACY = ("setuptools>=40.8.0",)


def read_metadata(text: str) -> RawMetadata:
    """Parse METADATA or PKG-INFO; fields that no standard knows are left out."""
    raw, _ = parse_email(text)
    return raw


def wheel_metadata(stream: IO[bytes], name: str) -> str:
    """Text of METADATA of a wheel. Raises ValueError where it is none."""
    try:
        with zipfile.ZipFile(stream) as archive:
            for member in archive.namelist():
                path = PurePosixPath(member)
                if path.match("*.dist-info/METADATA") and len(path.parts) == 2:
                    return archive.read(member).decode("utf-8", errors="replace")
    except zipfile.BadZipFile as error:
        msg = f"{name} is no wheel: {error}"
        raise ValueError(msg) from error
    msg = f"{name} is no wheel: it has no METADATA"
    raise ValueError(msg)


def sdist_texts(stream: IO[bytes], name: str) -> tuple[str, str]:
    """Text of PKG-INFO and of pyproject.toml of a source distribution; empty where absent."""
    found: dict[str, str] = {}
    wanted = ("PKG-INFO", "pyproject.toml")
    try:
        if name.endswith(".zip"):
            with zipfile.ZipFile(stream) as archive:
                for member in archive.namelist():
                    if _at_top(member, wanted):
                        data = archive.read(member)
                        found[PurePosixPath(member).name] = data.decode("utf-8", errors="replace")
        else:
            with tarfile.open(fileobj=stream) as archive_tar:
                for entry in archive_tar:
                    if entry.isfile() and _at_top(entry.name, wanted):
                        content = archive_tar.extractfile(entry)
                        data = content.read() if content else b""
                        found[PurePosixPath(entry.name).name] = data.decode(
                            "utf-8", errors="replace"
                        )
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError) as error:
        msg = f"{name} is no source distribution: {error}"
        raise ValueError(msg) from error
    return found.get("PKG-INFO", ""), found.get("pyproject.toml", "")


def build_requirements(pyproject: str) -> tuple[str, ...]:
    """What building a source distribution needs, by its pyproject.toml."""
    try:
        system = tomllib.loads(pyproject).get("build-system", {})
    except tomllib.TOMLDecodeError:
        return _LEGACY
    return tuple(str(each) for each in system.get("requires", _LEGACY))


def _at_top(member: str, wanted: tuple[str, ...]) -> bool:
    path = PurePosixPath(member)
    return path.name in wanted and len(path.parts) == 2
