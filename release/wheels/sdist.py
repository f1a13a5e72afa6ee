"""A source distribution: what it says of itself, and that a wheel can be built from it."""

import sys
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from packaging.utils import InvalidSdistFilename, canonicalize_name, parse_sdist_filename
from packaging.version import InvalidVersion, Version

from gauntlet.core.findings import Finding
from gauntlet.core.proc import CommandError, run
from gauntlet.release.version import ReleaseVersion
from gauntlet.release.wheels.metadata import WheelMetadata, read_metadata

SDIST_SUFFIX = ".tar.gz"
UNREADABLE = (tarfile.TarError, OSError, EOFError, ValueError, zlib.error)
_MOST_MEMBERS = 200_000
_MOST_TEXT = 32 << 20
_MOST_UNPACKED = 8 << 30
_BUILD_TIMEOUT_S = 3600.0


def check_sdist(
    path: Path, *, package: str = "", version: ReleaseVersion | None = None, build: bool = False
) -> tuple[Finding, ...]:
    """Check an sdist by reading it; with ``build`` also make a wheel of it, without isolation."""
    try:
        name, named = parse_sdist_filename(path.name)
    except InvalidSdistFilename as error:
        return (_finding("sdist-name", path, str(error), "name it NAME-VERSION.tar.gz"),)
    try:
        said = read_metadata(pkg_info(path))
    except UNREADABLE as error:
        reason = f"damaged or no sdist: {error}"
        return (_finding("sdist-readable", path, reason, "build it again"),)
    findings = list(_agreement(path, name, named, said))
    if package and canonicalize_name(package) != name:
        reason = f"it is {name}, the matrix is for {package}"
        findings.append(_finding("sdist-name", path, reason, "give the sdist of this package"))
    if version is not None and named != Version(version.final.python):
        asked = version.final.python
        reason = f"it is version {named}, {asked} is asked for"
        findings.append(
            _finding("sdist-version", path, reason, f"build it with the version {asked}")
        )
    if build and not findings:
        findings += _build(path)
    return tuple(findings)


def pkg_info(path: Path) -> bytes:
    """Read ``PKG-INFO`` in one pass.

    Raises ValueError for what is no sdist, and one of `UNREADABLE` for damage.
    """
    tops: set[str] = set()
    found: bytes | None = None
    unpacked = 0
    with tarfile.open(path, "r|gz") as archive:
        for count, member in enumerate(archive, 1):
            parts = PurePosixPath(member.name).parts
            unpacked += member.size
            if count > _MOST_MEMBERS or unpacked > _MOST_UNPACKED:
                raise ValueError("it unpacks to more than any sdist")
            if not parts or ".." in parts or parts[0].startswith("/"):
                raise ValueError(f"member {member.name!r} would be written outside its folder")
            tops.add(parts[0])
            if len(parts) == 2 and parts[1] == "PKG-INFO" and member.size <= _MOST_TEXT:
                stream = archive.extractfile(member)
                found = stream.read() if stream else None
    if len(tops) != 1 or found is None:
        raise ValueError("one top-level folder with a PKG-INFO is needed")
    return found


def _agreement(path: Path, name: str, named: Version, said: WheelMetadata) -> Iterator[Finding]:
    try:
        same = canonicalize_name(said.name) == name and Version(said.version) == named
    except InvalidVersion:
        same = False
    if not same:
        reason = f"the file is named {name} {named}, PKG-INFO says {said.name} {said.version}"
        yield _finding("sdist-name", path, reason, "build it: an sdist cannot be renamed")


def _build(path: Path) -> Iterator[Finding]:
    with tempfile.TemporaryDirectory(prefix="gauntlet-sdist-") as folder:
        source = Path(folder) / "source"
        with tarfile.open(path) as archive:
            archive.extractall(source, filter="data")
        (inner,) = source.iterdir()
        command = [sys.executable, "-m", "build", "--wheel", "--no-isolation"]
        try:
            run([*command, "-o", folder, str(inner)], timeout=_BUILD_TIMEOUT_S, supervised=True)
        except CommandError as error:
            reason = f"no wheel can be built from it: {error.message}"
            remedy = "add what is missing to the sdist, or install what its build needs"
            yield _finding("sdist-builds", path, reason, remedy)


def _finding(check: str, path: Path, message: str, remedy: str) -> Finding:
    return Finding(check=check, subject=path.name, message=message, remedy=remedy)
