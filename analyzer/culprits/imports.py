"""Which files a test needs: its imports, and theirs, as they were at one commit."""

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from gauntlet.core.git import git
from gauntlet.core.proc import run

# A test that imports more than this says nothing about where to look.
_MOST_FILES = 3_000
_TIMEOUT_S = 120.0
_LIMIT = 256 << 20


def import_closure(repository: Path, commit: str, test_file: str) -> dict[str, int]:
    """Files of the repository that a test file imports, each with its distance from it.

    The test itself has distance 0. What ``__init__`` files import is left out: they export
    everything to everybody. A file that does not parse imports nothing. Empty where the commit
    has no such file. Raises UsageError where the commit is not there.
    """
    listed = git(repository, "ls-tree", "-r", "-z", "--name-only", "--full-tree", commit)
    paths = [path for path in listed.split("\0") if path.endswith(".py")]
    if test_file not in paths:
        return {}
    modules = _modules(paths)
    found = {test_file: 0}
    level = [test_file]
    while level and len(found) < _MOST_FILES:
        texts = _texts(repository, commit, level)
        distance = found[level[0]] + 1
        following: list[str] = []
        for path in level:
            if path != test_file and path.endswith("__init__.py"):
                continue
            for module in _imported(texts.get(path, ""), path):
                other = modules.get(module)
                if other is not None and other not in found:
                    found[other] = distance
                    following.append(other)
        level = following
    return found


def _modules(paths: Iterable[str]) -> dict[str, str]:
    """Files by the dotted names under which they can be imported: from any folder above them.

    The name from the highest folder wins where two files would have the same.
    """
    found: dict[str, str] = {}
    for path in sorted(paths, key=lambda each: (each.count("/"), each)):
        parts = PurePosixPath(path).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
        for start in range(len(parts)):
            found.setdefault(".".join(parts[start:]), path)
    return found


def _texts(repository: Path, commit: str, paths: Iterable[str]) -> dict[str, str]:
    """Read many files of a commit at once."""
    wanted = list(paths)
    names = "".join(f"{commit}:{path}\n" for path in wanted if "\n" not in path)
    done = run(
        ["git", "-C", str(repository), "cat-file", "--batch"],
        stdin=names.encode("utf-8", "surrogateescape"),
        timeout=_TIMEOUT_S,
        limit=_LIMIT,
        errors="surrogateescape",
    )
    raw = done.stdout.encode("utf-8", "surrogateescape")
    found, place = {}, 0
    for path in (each for each in wanted if "\n" not in each):
        end = raw.find(b"\n", place)
        header = raw[place:end].split()
        if end < 0 or len(header) != 3 or header[1] != b"blob":
            place = end + 1
            continue
        size = int(header[2])
        found[path] = raw[end + 1 : end + 1 + size].decode("utf-8", "replace")
        place = end + size + 2
    return found


def _imported(text: str, path: str) -> Iterator[str]:
    """Dotted names that a file imports, lazily or not; relative ones made absolute."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    package = PurePosixPath(path).parent.parts
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                yield f"{base}.{alias.name}" if base else alias.name
            if base:
                yield base


def paths_named(text: str, known: Mapping[str, object] | Iterable[str]) -> frozenset[str]:
    """Files among ``known`` that a text names, by their path or by their dotted name."""
    return frozenset(
        path
        for path in known
        if _stands(path, text)
        or (path.endswith(".py") and "/" in path and _stands(_dotted(path), text))
    )


def _stands(name: str, text: str) -> bool:
    """Whether a name stands in a text by itself, perhaps below another folder."""
    return name in text and re.search(rf"(?<![\w.-]){re.escape(name)}(?!\w)", text) is not None


def _dotted(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
