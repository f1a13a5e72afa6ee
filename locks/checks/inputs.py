"""What the inputs of a lock ask for, each with the line that asks."""

import posixpath
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from gauntlet.core.errors import ConfigError, Problem
from gauntlet.locks.manifest import LockSpec

_INCLUDE = re.compile(r"(?:-r|--requirement)[ =]?\s*(?P<file>\S+)")
_CONSTRAINT = re.compile(r"(?:-c|--constraint)[ =]?\s*(?P<file>\S+)")
_REMARK = re.compile(r"(?:^|\s+)#.*")
_OPTION = re.compile(r"\s+--\S+.*")


@dataclass(frozen=True, slots=True)
class Asked:
    """One requirement and where it stands."""

    file: str
    line: int
    requirement: Requirement

    @property
    def where(self) -> str:
        """As people write it."""
        return f"{self.file}:{self.line}"


def input_files(
    spec: LockSpec, constraints: Sequence[str], read: Callable[[str], str]
) -> Mapping[str, str]:
    """Text of every file that a lock is made from, those that they include as well.

    Raises what ``read`` raises for a file that is not there.
    """
    texts: dict[str, str] = {}
    waiting = [*spec.inputs, *spec.overrides, *constraints, *spec.build_constraints]
    while waiting:
        file = waiting.pop()
        if file in texts:
            continue
        texts[file] = read(file)
        if not file.endswith(".toml"):
            waiting += [_beside(file, name) for name in _named(texts[file])]
    return texts


def asked_by(spec: LockSpec, texts: Mapping[str, str]) -> list[Asked]:
    """Requirements of the inputs of a lock. Raises ConfigError where a pyproject.toml is broken."""
    found: list[Asked] = []
    for file in spec.inputs:
        if file.endswith(".toml"):
            found += _of_project(file, texts[file], spec)
        else:
            found += _of_requirements(file, texts, _INCLUDE)
    return found


def constrained_by(files: Sequence[str], spec: LockSpec, texts: Mapping[str, str]) -> list[Asked]:
    """Requirements of constraint files, and of those that inputs name."""
    found = [each for file in files for each in _of_requirements(file, texts, _INCLUDE)]
    for file in spec.inputs:
        if not file.endswith(".toml"):
            for name in _matches(texts[file], _CONSTRAINT):
                found += _of_requirements(_beside(file, name), texts, _INCLUDE)
    return found


def requirements_of(file: str, text: str) -> Iterator[Asked]:
    """Requirements of one file in pip's format; lines that are options are passed over."""
    held, start = "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        start = start if held else number
        if line.endswith("\\"):
            held += line[:-1] + " "
            continue
        bare = _OPTION.sub("", _REMARK.sub("", held + line)).strip()
        held = ""
        if not bare or bare.startswith("-"):
            continue
        try:
            yield Asked(file, start, Requirement(bare))
        except InvalidRequirement as error:
            message = f"it is no requirement: {error}".splitlines()[0]
            raise ConfigError(
                [Problem(file=file, line=start, message=message, value=bare)]
            ) from error


def _of_requirements(
    file: str,
    texts: Mapping[str, str],
    include: re.Pattern[str],
    seen: frozenset[str] = frozenset(),
) -> Iterator[Asked]:
    if file in seen:
        return
    yield from requirements_of(file, texts[file])
    for name in _matches(texts[file], include):
        yield from _of_requirements(_beside(file, name), texts, include, seen | {file})


def _of_project(file: str, text: str, spec: LockSpec) -> list[Asked]:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError([Problem(file=file, message=f"TOML: {error}")]) from error
    project = data.get("project", {})
    extras = {canonicalize_name(k): v for k, v in project.get("optional-dependencies", {}).items()}
    own = canonicalize_name(project.get("name", ""))
    lines = [*project.get("dependencies", ())]
    chosen = list(extras) if spec.all_extras else [canonicalize_name(each) for each in spec.extras]
    for extra in chosen:
        lines += extras.get(extra, ())
    for group in spec.groups:
        entries = data.get("dependency-groups", {}).get(group, ())
        lines += [entry for entry in entries if isinstance(entry, str)]
    found: list[Asked] = []
    done = set(chosen)
    while lines:
        line = lines.pop(0)
        requirement = Requirement(line)
        if canonicalize_name(requirement.name) == own:
            more = {canonicalize_name(extra) for extra in requirement.extras} - done
            done |= more
            lines += [each for extra in sorted(more) for each in extras.get(extra, ())]
        else:
            found.append(Asked(file, _line_of(text, line), requirement))
    return found


def _line_of(text: str, wanted: str) -> int:
    quoted = (f'"{wanted}"', f"'{wanted}'")
    lines = enumerate(text.splitlines(), start=1)
    return next((number for number, line in lines if any(q in line for q in quoted)), 1)


def _named(text: str) -> list[str]:
    return [*_matches(text, _INCLUDE), *_matches(text, _CONSTRAINT)]


def _matches(text: str, pattern: re.Pattern[str]) -> list[str]:
    found = (pattern.match(line.strip()) for line in text.splitlines())
    return [match["file"] for match in found if match]


def _beside(file: str, name: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(file), name))
