"""Which tests a job's commands name: read from the command text, without running anything."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from posixpath import normpath

WORKSPACE = "/vllm-workspace"

# What ends one shell command inside a line of text.
_BREAK = re.compile(r"[;\n|&]+")
_WORD = re.compile(r"""[^\s"'()]+""")
_FILE = re.compile(r"(?<![\w./$-])[\w./-]+\.(?:sh|py|txt|ya?ml|json|toml|hcl|cfg)\b(?![\w*$/])")
_FIND = re.compile(r"\bfind\s+([^\s\"'-]\S*)")
# A quoted expression of pytest, such as -m 'not slow': its words could be taken for paths.
_EXPRESSION = re.compile(r"""(?<=\s)(-[km])[\s=]*(\\?["']).*?\2""", re.DOTALL)
# Options of pytest whose value is the next word and no path.
_WITH_VALUE = frozenset({"-m", "-k", "-n", "-p", "-o", "-c", "-r", "--ignore", "--deselect"})
_NARROWING = frozenset({"-m", "-k"})
_GLOB = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class Targets:
    """Paths (relative to the tree, perhaps with wildcards) that pytest gets, and those it skips.

    ``narrowed``: an expression chooses among the tests below them.
    """

    named: tuple[str, ...]
    ignored: tuple[str, ...]
    narrowed: bool = False


@lru_cache(maxsize=4096)
def pytest_calls(commands: tuple[str, ...], working_dir: str | None) -> tuple[Targets, ...]:
    """Read the targets of every call of pytest, resolved against the working directory.

    Each by itself: one may run what another leaves out.
    """
    return tuple(_calls((_EXPRESSION.sub(r"\1 _", text) for text in commands), working_dir))


def _calls(commands: Iterable[str], working_dir: str | None) -> Iterator[Targets]:
    bases = [_in_tree(working_dir or WORKSPACE)]
    for command in commands:
        for piece in _BREAK.split(command.replace("\\\n", " ")):
            words = _WORD.findall(piece)
            if len(words) > 1 and words[-2] == "cd":
                bases.append(_in_tree(words[-1], bases[-1]))
            elif "pytest" in words:
                yield _read(words[words.index("pytest") + 1 :], bases)
        if "pytest" in command:
            for folder in _FIND.findall(command):
                yield Targets(tuple(_resolve(folder, bases)), ())


@lru_cache(maxsize=4096)
def named_files(commands: tuple[str, ...], working_dir: str | None) -> tuple[str, ...]:
    """Files that a job's commands name: scripts, configurations, lists; wherever they may lie.

    A command may have changed the directory, so every word is read from the working directory
    and from the root of the tree. A reading that names nothing does no harm.
    """
    bases = (_in_tree(working_dir or WORKSPACE), "")
    found: dict[str, None] = {}
    for command in commands:
        for word in _FILE.findall(command):
            path = word.removeprefix(f"{WORKSPACE}/")
            if path.startswith("/"):
                continue
            for base in bases:
                found[normpath(f"{base}/{path}" if base else path)] = None
    return tuple(path for path in found if not path.startswith(".."))


def _in_tree(folder: str, base: str = "") -> str:
    """A working directory relative to the tree; "" is its root."""
    if folder.startswith("/"):
        base, folder = "", folder.removeprefix(WORKSPACE).strip("/")
    path = normpath(f"{base}/{folder}".strip("/") or ".")
    return "" if path == "." else path


def _read(words: list[str], bases: list[str]) -> Targets:
    """Sort the words after ``pytest`` into paths that it runs and paths that it leaves out."""
    named: dict[str, None] = {}
    ignored: dict[str, None] = {}
    skip = False
    for word, before in zip(words, ["", *words], strict=False):
        if skip:
            skip = False
            if before == "--ignore":
                ignored.update(_resolve(word, bases))
        elif word.startswith("--ignore="):
            ignored.update(_resolve(word.partition("=")[2], bases))
        elif word.startswith("-"):
            skip = word in _WITH_VALUE
        elif "$" not in word and "{" not in word:
            named.update(_resolve(word, bases))
    return Targets(tuple(named), tuple(ignored), not _NARROWING.isdisjoint(words))


def _resolve(word: str, bases: list[str]) -> dict[str, None]:
    """Paths that a word can mean, below every directory that the commands have been in.

    Scripts that commands call may change the directory themselves, so a word that begins with
    ``tests/`` is also read from the tree's root. A reading that names nothing does no harm.
    """
    path = word.partition("::")[0].removeprefix(f"{WORKSPACE}/")
    roots = [*bases, ""] if path.startswith("tests/") else bases
    readings = (normpath(f"{base}/{path}" if base else path) for base in roots)
    return {reading: None for reading in readings if f"{reading}/".startswith("tests/")}


def is_glob(target: str) -> bool:
    """Whether a target holds wildcards that the shell expands."""
    return _GLOB.search(target) is not None


def covers(target: str, path: str) -> bool:
    """Whether a target is the path, a folder above it, or a wildcard that fits either."""
    if path == target or path.startswith(f"{target}/"):
        return True
    if not is_glob(target):
        return False
    depth = target.count("/") + 1
    head = "/".join(path.split("/")[:depth])
    return head.count("/") + 1 == depth and fnmatchcase(head, target)
