"""Whether wheels and an sdist are fit to ship: each check by its name, with what to do."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from gauntlet.core.findings import Finding
from gauntlet.release.matrix.model import Matrix, WheelCell
from gauntlet.release.version import ReleaseVersion
from gauntlet.release.wheels.facts import WheelError, WheelFacts, read_wheel
from gauntlet.release.wheels.find import fill, same_label, unreadable
from gauntlet.release.wheels.libraries import abi3, glibc, limited_api, machine_of_elf
from gauntlet.release.wheels.sdist import SDIST_SUFFIX, check_sdist

DEFAULT_LIMIT_MB = 500.0
"""Largest wheel where no cell says otherwise; a megabyte is 1,000,000 bytes."""
_STRAY = frozenset({"tests", "test", "docs", "examples", "benchmarks"})
_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a wheel has to be. None: nothing is known of it, so it is not checked."""

    cell: WheelCell | None = None
    package: str = ""
    version: ReleaseVersion | None = None


Check = Callable[[WheelFacts, Wanted], Iterable[Finding]]


def check_wheels(
    paths: Iterable[Path],
    *,
    matrix: Matrix | None = None,
    version: ReleaseVersion | None = None,
    build_sdist: bool = False,
) -> tuple[Finding, ...]:
    """Check every file, and with a matrix that together they are what a release is made of.

    ``version`` is the release or one of its candidates: wheels of both carry the final version.
    ``build_sdist`` also builds a wheel from each sdist, with what is installed here.
    """
    files = sorted(set(paths))
    sdists = [path for path in files if path.name.endswith(SDIST_SUFFIX)]
    wheels = [path for path in files if path not in sdists]
    findings: list[Finding] = []
    cells: dict[Path, WheelCell] = {}
    if matrix is not None:
        filled = fill(matrix.wheels, wheels)
        findings += filled.findings
        cells = {filled.files[c.id]: c for c in matrix.wheels if c.id in filled.files}
        findings += _sdist_count(matrix, sdists)
    package = matrix.package if matrix else ""
    for path in wheels:
        wanted = Wanted(cell=cells.get(path), package=package, version=version)
        findings += check_wheel(path, wanted)
    for path in sdists:
        findings += check_sdist(path, package=package, version=version, build=build_sdist)
    return tuple(dict.fromkeys(findings))


def check_wheel(path: Path, wanted: Wanted) -> tuple[Finding, ...]:
    """Check one file; what is no wheel at all is one finding."""
    try:
        facts = read_wheel(path)
    except WheelError as error:
        return (unreadable(error, path),)
    return tuple(finding for check in CHECKS for finding in check(facts, wanted))


def _name(facts: WheelFacts, wanted: Wanted) -> Iterator[Finding]:
    said = facts.metadata
    names = {"METADATA": said.name, "the matrix": wanted.package}
    for source, name in names.items():
        if name and canonicalize_name(name) != facts.named.name:
            message = f"the file is named {facts.named.name}, {source} says {name}"
            yield _finding("wheel-name", facts, message, "build it under one name")
    try:
        same = Version(said.version) == facts.named.version
    except InvalidVersion:
        same = False
    if not same:
        message = f"the file is named {facts.named.version}, METADATA says {said.version or 'none'}"
        yield _finding("wheel-name", facts, message, "build it: a wheel cannot be renamed")


def _tags(facts: WheelFacts, wanted: Wanted) -> Iterator[Finding]:
    del wanted
    if facts.tags != facts.named.tags:
        inside = ", ".join(sorted(map(str, facts.tags))) or "none"
        outside = ", ".join(sorted(map(str, facts.named.tags)))
        message = f"the file is named for {outside}; its WHEEL file says {inside}"
        yield _finding("wheel-tags", facts, message, "set tags with `wheel tags`, not by renaming")


def _version(facts: WheelFacts, wanted: Wanted) -> Iterator[Finding]:
    if wanted.version is None:
        return
    found, asked = facts.named.version, wanted.version.final.python
    if Version(found.public) != Version(asked):
        message = f"it is version {found.public}, {asked} is asked for"
        yield _finding("wheel-version", facts, message, f"build it with the version {asked}")


def _variant(facts: WheelFacts, wanted: Wanted) -> Iterator[Finding]:
    cell = wanted.cell
    if cell is not None and not same_label(facts.named.version, cell.variant):
        message = (
            f"its label is {facts.named.variant or 'none'}, the cell's {cell.variant or 'none'}"
        )
        yield _finding("wheel-variant", facts, message, "build it with the cell's label")


def _size(facts: WheelFacts, wanted: Wanted) -> Iterator[Finding]:
    limit_mb = wanted.cell.size_limit_mb if wanted.cell else DEFAULT_LIMIT_MB
    if facts.size_bytes <= limit_mb * 1e6:
        return
    largest = sorted(facts.members, key=lambda m: (-m.compressed_bytes, m.name))[:_SHOWN]
    parts = ", ".join(f"{m.name} {m.compressed_bytes / 1e6:.2f} MB" for m in largest)
    message = f"{facts.size_bytes / 1e6:.2f} MB, at most {limit_mb:g} MB; largest in it: {parts}"
    yield _finding("wheel-size", facts, message, "build for fewer GPUs, or raise size_limit_mb")


def _metadata(facts: WheelFacts, wanted: Wanted) -> Iterator[Finding]:
    del wanted
    said = facts.metadata
    fields = {
        "Requires-Python": said.requires_python,
        "License-Expression": said.license,
        "Summary": said.summary,
        "Description": said.has_description,
    }
    absent = [name for name, value in fields.items() if not value]
    if absent:
        message = f"METADATA does not give {', '.join(absent)}"
        yield _finding("wheel-metadata", facts, message, "add it to the project's metadata")
    for problem in said.problems:
        yield _finding("wheel-metadata", facts, problem, "correct the project's metadata")


def _record(facts: WheelFacts, wanted: Wanted) -> Iterator[Finding]:
    del wanted
    problems = facts.record_problems
    if problems:
        more = f" (and {len(problems) - _SHOWN} more)" if len(problems) > _SHOWN else ""
        message = "; ".join(problems[:_SHOWN]) + more
        yield _finding("wheel-record", facts, message, "build it again; do not ship this file")


def _content(facts: WheelFacts, wanted: Wanted) -> Iterator[Finding]:
    del wanted
    paths = [PurePosixPath(member.name) for member in facts.members]
    stray = sorted({path.parts[0] for path in paths if path.parts[0] in _STRAY})
    if stray:
        message = f"installs the top-level {', '.join(stray)} for everybody"
        yield _finding("wheel-content", facts, message, "leave them out of the packages")
    compiled = [str(path) for path in paths if path.suffix in (".pyc", ".pyo")]
    if compiled:
        message = f"holds {len(compiled)} compiled files, such as {compiled[0]}"
        yield _finding("wheel-content", facts, message, "exclude *.pyc: installers make their own")


def _purelib(facts: WheelFacts, wanted: Wanted) -> Iterator[Finding]:
    del wanted
    pure = all(tag.platform == "any" for tag in facts.named.tags)
    if facts.is_purelib is None:
        yield _finding(
            "wheel-purelib", facts, "WHEEL does not give Root-Is-Purelib", "build it again"
        )
    elif facts.is_purelib and not pure:
        message = "WHEEL says Root-Is-Purelib, its tags name a platform"
        yield _finding("wheel-purelib", facts, message, "mark the distribution as not pure")
    elif pure and facts.elf:
        message = f"it is tagged for any platform and holds {facts.elf[0].name}"
        yield _finding("wheel-purelib", facts, message, "build it as a platform wheel")


CHECKS: tuple[Check, ...] = (
    _name,
    _tags,
    _version,
    _variant,
    lambda facts, _: abi3(facts),
    lambda facts, _: limited_api(facts),
    lambda facts, _: machine_of_elf(facts),
    lambda facts, _: glibc(facts),
    _size,
    _metadata,
    _record,
    _content,
    _purelib,
)
"""In the order in which they are told."""


def _finding(check: str, facts: WheelFacts, message: str, remedy: str) -> Finding:
    return Finding(check=check, subject=facts.path.name, message=message, remedy=remedy)


def _sdist_count(matrix: Matrix, sdists: list[Path]) -> Iterator[Finding]:
    if matrix.sdist and len(sdists) != 1:
        names = ", ".join(path.name for path in sdists) or "none"
        yield Finding(
            check="sdist-missing" if not sdists else "sdist-twice",
            subject=matrix.package,
            message=f"one sdist is needed, found: {names}",
            remedy="build it with `python -m build --sdist`, or set `sdist: false` in the matrix",
        )
