"""Lock files in the format of pip-tools, which uv and pip-compile write and pip installs from.

A lock pins each package once a marker, with the hashes of its files, and says in comments through
whom it came (``# via``). The header holds the command that made it.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from packaging.markers import InvalidMarker, Marker
from packaging.utils import canonicalize_name

from gauntlet.core.errors import ConfigError, Problem
from gauntlet.core.yaml_file import read_text

_PIN = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(?:\[(?P<extras>[^\]]*)\])?\s*===?\s*(?P<version>[^\s;]+)"
    r"\s*(?:;\s*(?P<marker>.+?))?\s*"
)
_HASH = re.compile(r"--hash=(?P<hash>[a-z0-9]+:[0-9a-f]+)")
_COMMAND = re.compile(r"#\s+(?P<command>(?:uv pip compile|pip-compile)\b.*)")
_REMEDY = "it is no line of a lock; compile it again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """One package at one version, for where its marker holds.

    ``name`` is canonical. ``via`` names who wants it: packages by their canonical names, and
    inputs as ``-r FILE`` or, of a ``pyproject.toml``, as ``PROJECT (FILE)``. ``line`` is its first.
    """

    name: str
    version: str
    extras: tuple[str, ...] = ()
    marker: str = ""
    hashes: tuple[str, ...] = ()
    via: tuple[str, ...] = ()
    line: int = 0

    @property
    def key(self) -> str:
        """``name==version``, by which the record of the index knows it."""
        return f"{self.name}=={self.version}"


@dataclass(frozen=True)
class LockFile:
    """A lock as it was read. ``options`` are the lines that are options to the installer."""

    file: str
    pins: tuple[Pin, ...]
    header: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    options: tuple[tuple[int, str], ...] = ()
    text: str = field(default="", repr=False)

    @cached_property
    def by_name(self) -> Mapping[str, tuple[Pin, ...]]:
        """Pins by canonical name; more than one where markers choose between versions."""
        found: dict[str, tuple[Pin, ...]] = {}
        for pin in self.pins:
            found[pin.name] = (*found.get(pin.name, ()), pin)
        return found

    @cached_property
    def versions(self) -> Mapping[str, str]:
        """Versions by canonical name; of several, all, joined by a bar."""
        return {
            name: " | ".join(dict.fromkeys(pin.version for pin in pins))
            for name, pins in self.by_name.items()
        }

    @property
    def requirers(self) -> Mapping[str, frozenset[str]]:
        """Who wants each package, by its name: packages, and inputs as the lock writes them."""
        return {
            name: frozenset(who for pin in pins for who in pin.via)
            for name, pins in self.by_name.items()
        }


def load_lock(path: Path, *, file: str = "") -> LockFile:
    """Read a lock; ``file`` is what it is called in messages. Raises ConfigError as parse_lock."""
    return parse_lock(read_text(path), file=file or str(path))


def parse_lock(text: str, *, file: str) -> LockFile:
    """Read the text of a lock. Raises ConfigError that lists every line that is none of a lock."""
    reader = _Reader(file)
    for number, line in _logical_lines(text):
        reader.take(number, line)
    if reader.problems:
        raise ConfigError(reader.problems)
    return LockFile(
        file=file,
        pins=tuple(reader.pins),
        header=tuple(reader.header),
        command=_command(reader.header),
        options=tuple(reader.options),
        text=text,
    )


def is_input(who: str) -> bool:
    """Whether an entry of ``via`` is an input, and not a package."""
    return who.startswith("-") or "(" in who


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their number, those that end in a backslash joined with the next."""
    start, held = 0, ""
    for number, line in enumerate(text.splitlines(), start=1):
        if not held:
            start = number
        if line.endswith("\\") and not line.lstrip().startswith("#"):
            held += line[:-1] + " "
            continue
        yield start, held + line
        held = ""
    if held:
        yield start, held


def _command(header: Sequence[str]) -> tuple[str, ...]:
    """The words of the command in a header, which pip-compile may spread over lines; or none."""
    for line in header:
        if found := _COMMAND.fullmatch(line.rstrip()):
            try:
                return tuple(shlex.split(found["command"]))
            except ValueError:
                return ()
    return ()


class _Reader:
    """Puts pins together from lines: a pin, then the comments below it that say through whom."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._in_via = False
        self.pins: list[Pin] = []
        self.header: list[str] = []
        self.options: list[tuple[int, str]] = []
        self.problems: list[Problem] = []

    def take(self, number: int, line: str) -> None:
        bare = line.strip()
        if bare.startswith("#"):
            self._comment(line, bare)
        elif bare.startswith("-"):
            self.options.append((number, bare))
        elif bare:
            self._pin(number, bare)

    def _comment(self, line: str, bare: str) -> None:
        if not self.pins:
            self.header.append(bare)
            return
        said = bare.lstrip("#").strip()
        if said.startswith("via") and (said == "via" or said[3].isspace()):
            self._in_via = True
            said = said[3:].strip()
        elif not line[:1].isspace():
            self._in_via = False
        if self._in_via and said:
            last = self.pins[-1]
            self.pins[-1] = replace(last, via=(*last.via, *_requirers(said)))

    def _pin(self, number: int, bare: str) -> None:
        self._in_via = False
        text, _, beside = bare.partition(" #")
        hashes = tuple(match["hash"] for match in _HASH.finditer(text))
        found = _PIN.fullmatch(_HASH.sub("", text).strip())
        marker = (found["marker"] or "") if found else ""
        if found is None or not _is_marker(marker):
            shown = bare if len(bare) <= 80 else f"{bare[:79]}…"
            problem = Problem(file=self._file, line=number, message=_REMEDY, value=shown)
            self.problems.append(problem)
            return
        extras = (extra.strip() for extra in (found["extras"] or "").split(","))
        pin = Pin(
            name=canonicalize_name(found["name"]),
            version=found["version"],
            extras=tuple(sorted(canonicalize_name(extra) for extra in extras if extra)),
            marker=marker,
            hashes=hashes,
            line=number,
        )
        said = beside.strip()
        if said.startswith("via "):
            pin = replace(pin, via=_requirers(said[4:]))
        self.pins.append(pin)


def _requirers(said: str) -> tuple[str, ...]:
    """Entries of one ``via`` comment; on one line they stand between commas."""
    parts = (part.strip() for part in said.split(","))
    return tuple(part if is_input(part) else canonicalize_name(part) for part in parts if part)


def _is_marker(text: str) -> bool:
    try:
        return not text or bool(Marker(text))
    except InvalidMarker:
        return False
