"""Which test files the commands of pipelines run, also through the scripts that they call."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from posixpath import dirname, normpath

from gauntlet.pipelines.audit.tree import TESTS, Tree
from gauntlet.pipelines.commands import WORKSPACE, Targets, covers, is_glob, pytest_calls

SCRIPT_DEPTH = 3
_COMMAND_KEYS = ("command", "commands", "run")
_WORD = re.compile(r"""[^\s"'();|&<>]+""")
_COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)
# ``$DIR/``, ``${A}/${B}/`` or the rest of ``"$(dirname "$0")"/`` in front of a path.
_VARIABLES = re.compile(r"^(?:(?:\$[^/]*)?/+)+")


@dataclass(frozen=True, slots=True)
class Invocation:
    """Commands that run one after the other, and the folder in which they begin."""

    commands: tuple[str, ...]
    working_dir: str | None = None


@dataclass(frozen=True, slots=True)
class Runs:
    """Test files that something runs, and scripts on the way whose text is not known."""

    files: frozenset[str]
    unread: tuple[str, ...]


def invocations(value: object, working_dir: str | None = None) -> Iterator[Invocation]:
    """Yield the commands anywhere in a pipeline definition, whatever its dialect.

    A mapping inherits the working directory of the one around it, as a mirror does.
    """
    if isinstance(value, list):
        for item in value:
            yield from invocations(item, working_dir)
    elif isinstance(value, dict):
        own = value.get("working_dir")
        folder = own if isinstance(own, str) else working_dir
        for key, item in value.items():
            if key in _COMMAND_KEYS and isinstance(item, str | list):
                lines = [item] if isinstance(item, str) else item
                yield Invocation(tuple(line for line in lines if isinstance(line, str)), folder)
            yield from invocations(item, folder)


def files_of(call: Targets, target: str, tree: Tree) -> list[str]:
    """Test files that one target of a call of pytest stands for, sorted."""
    if is_glob(target):
        named = [path for path in sorted(tree.tests) if covers(target, path)]
    else:
        named = [path for path in tree.below(target) if path in tree.tests]
    return [path for path in named if not any(covers(entry, path) for entry in call.ignored)]


def pytest_files(commands: tuple[str, ...], working_dir: str | None, tree: Tree) -> set[str]:
    """Test files that calls of pytest run."""
    calls = pytest_calls(commands, working_dir)
    return {
        path for call in calls for target in call.named for path in files_of(call, target, tree)
    }


def what_runs(commands: Iterable[Invocation], tree: Tree, scripts: Mapping[str, str]) -> Runs:
    """Say which test files run. ``scripts`` holds the text of shell scripts by their path.

    Where a reading is doubtful the file counts as run: any word that is the path of a test file
    does, whatever program gets it, and every branch of a script does.
    """
    finder = _Finder(tree, scripts)
    for invocation in commands:
        finder.read(invocation)
    return Runs(frozenset(finder.found), tuple(sorted(finder.unread)))


@dataclass(slots=True)
class _Finder:
    tree: Tree
    scripts: Mapping[str, str]
    found: set[str] = field(default_factory=set)
    unread: set[str] = field(default_factory=set)
    seen: dict[tuple[str, str], int] = field(default_factory=dict)

    def read(self, invocation: Invocation, beside: str = "", depth: int = SCRIPT_DEPTH) -> None:
        """Take in commands; ``beside`` is the folder of the script that they stand in."""
        for folder in dict.fromkeys((invocation.working_dir, f"{WORKSPACE}/{TESTS}")):
            self.found |= pytest_files(invocation.commands, folder, self.tree)
        folder = _relative(invocation.working_dir or "")
        for command in invocation.commands:
            for word in _WORD.findall(command):
                self._word(word, dict.fromkeys((folder, TESTS, "", beside)), folder, depth)

    def _word(self, word: str, bases: Iterable[str], working_dir: str, depth: int) -> None:
        path = _relative(word.partition("::")[0])
        if not path.endswith((".py", ".sh")):
            return
        for base in bases:
            reading = normpath(f"{base}/{path}" if base else path)
            if reading in self.tree.tests:
                self.found.add(reading)
            elif reading.endswith(".sh") and reading in self.tree:
                self._script(reading, working_dir, depth)

    def _script(self, path: str, working_dir: str, depth: int) -> None:
        text = self.scripts.get(path)
        if text is None:
            self.unread.add(path)
        elif depth and self.seen.get((path, working_dir), 0) < depth:
            self.seen[path, working_dir] = depth
            lines = _COMMENT.sub("", text).replace("\\\n", " ").split("\n")
            invocation = Invocation(tuple(lines), working_dir or None)
            self.read(invocation, dirname(path), depth - 1)


def _relative(word: str) -> str:
    """A word as a path inside the tree, without what stands for the tree's root."""
    path = word.removeprefix(WORKSPACE)
    return _VARIABLES.sub("", path).strip("/")
