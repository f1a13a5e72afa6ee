"""What a change touches: name-status lists, from a file, from git or from the built-in examples."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from gauntlet.core.errors import ConfigError, Problem, unknown_name
from gauntlet.core.git import NameStatus, parse_name_status
from gauntlet.core.yaml_file import read_text
from gauntlet.pipelines.locked import LockChange

_STATUS = re.compile(r"([ACDMRTUXB])(\d{0,3})\t(.+)", re.DOTALL)
_ESCAPE = re.compile(r'\\([abfnrtv"\\]|[0-7]{3})')
_LETTERS = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, '"': 34, "\\": 92}


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class ChangedFile:
    """One changed path; ``old_path`` is where a rename or copy came from."""

    path: str
    status: str = "M"
    old_path: str | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that counts as changed: both sides of a rename or copy."""
        return (self.path,) if self.old_path is None else (self.old_path, self.path)

    def __str__(self) -> str:
        if self.old_path is None:
            return f"{self.status} {self.path}"
        return f"{self.status} {self.old_path} -> {self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSet:
    """What one build has to answer for: the files that differ between ``base`` and ``head``.

    ``unknown`` says why that cannot be told, and then every job runs. ``base`` and ``head`` are
    commits where the files come from git; ``locks`` tell more of the lock files among them.
    """

    files: tuple[ChangedFile, ...] = ()
    base: str | None = None
    head: str | None = None
    unknown: str | None = None
    locks: tuple[LockChange, ...] = ()


def changed_paths(changes: Iterable[ChangedFile]) -> tuple[str, ...]:
    """Return all paths that count as changed, sorted, each once."""
    return tuple(sorted({path for change in changes for path in change.paths}))


def parse_changes(text: str, *, file: str = "changes") -> tuple[ChangedFile, ...]:
    """Parse name-status lines, as ``git diff --name-status`` (also with ``-z``) prints them.

    A bare path counts as modified; blank lines and lines that begin with ``# `` are left out.
    The result is sorted. Raises ConfigError with every line that cannot be read.
    """
    if "\0" in text:
        return from_git(parse_name_status(text))
    changes, problems = [], []
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.rstrip("\r")
        if not line.strip() or line.startswith("# "):
            continue
        try:
            changes.append(_parse_line(line))
        except ValueError as error:
            problems.append(Problem(file=file, line=number, message=str(error), value=repr(line)))
    if problems:
        hint = "one path a line, or STATUS<TAB>PATH, or R100<TAB>OLD<TAB>NEW"
        raise ConfigError(problems, hint=hint)
    return _ordered(changes)


def read_changes(path: Path) -> tuple[ChangedFile, ...]:
    """Read name-status lines from a file. Raises ConfigError where it cannot be read."""
    return parse_changes(read_text(path), file=str(path))


def from_git(entries: Iterable[NameStatus]) -> tuple[ChangedFile, ...]:
    """Turn what git says into changed files, sorted."""
    return _ordered(
        ChangedFile(path=entry.path, status=entry.status[0], old_path=entry.old_path)
        for entry in entries
    )


def example_names() -> tuple[str, ...]:
    """Names of the built-in example changes, sorted."""
    folder = resources.files("gauntlet.pipelines").joinpath("examples")
    names = (entry.name for entry in folder.iterdir())
    return tuple(sorted(name.removesuffix(".txt") for name in names if name.endswith(".txt")))


def load_example(name: str) -> tuple[ChangedFile, ...]:
    """Return one built-in example change. Raises UsageError for a name that there is not."""
    return parse_changes(example_text(name), file=f"{name}.txt")


def example_text(name: str) -> str:
    """Return the list of one built-in example; its first line says what it is about."""
    if name not in example_names():
        raise unknown_name(kind="example", name=name, known=example_names())
    folder = resources.files("gauntlet.pipelines").joinpath("examples")
    return folder.joinpath(f"{name}.txt").read_text("utf-8")


def _ordered(changes: Iterable[ChangedFile]) -> tuple[ChangedFile, ...]:
    return tuple(sorted(set(changes), key=lambda c: (c.path, c.status, c.old_path or "")))


def _parse_line(line: str) -> ChangedFile:
    match = _STATUS.fullmatch(line)
    if match is None:
        if "\t" in line:
            message = "neither a path nor a status letter and a path"
            raise ValueError(message)
        return ChangedFile(path=_path(line.strip()))
    letter, _, rest = match.groups()
    fields = rest.split("\t")
    if letter in "RC":
        if len(fields) != 2:
            message = "a rename or copy needs the old and the new path"
            raise ValueError(message)
        return ChangedFile(path=_path(fields[1]), status=letter, old_path=_path(fields[0]))
    if len(fields) != 1:
        message = f"one path expected after {letter}"
        raise ValueError(message)
    return ChangedFile(path=_path(fields[0]), status=letter)


def _path(text: str) -> str:
    """Undo git's quoting and check that the path stays inside the tree."""
    path = _unquote(text[1:-1]) if len(text) > 1 and text[0] == text[-1] == '"' else text
    path = path.removeprefix("./")
    if not path or path.startswith("/") or ".." in path.split("/"):
        message = "paths are relative to the root of the tree"
        raise ValueError(message)
    return path


def _unquote(text: str) -> str:
    out = bytearray()
    position = 0
    for match in _ESCAPE.finditer(text):
        out += text[position : match.start()].encode()
        code = match.group(1)
        out.append(_LETTERS[code] if code in _LETTERS else int(code, 8) & 0xFF)
        position = match.end()
    out += text[position:].encode()
    return out.decode("utf-8", errors="backslashreplace")
