"""The list of an engine's files, and fast answers about what lies where in it."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property

from gauntlet.pipelines.rules import prefixes

TESTS = "tests"
_TEST_FILE = re.compile(r"tests/(?:.*/)?(?:test_[^/]*|[^/]*_test)\.py")


def is_test_file(path: str) -> bool:
    """Whether pytest would collect a file by its name."""
    return _TEST_FILE.fullmatch(path) is not None


class Tree:
    """Paths of files only, relative to the root, sorted; contents are not known."""

    def __init__(self, files: Iterable[str]) -> None:
        self.files = tuple(sorted(set(files)))
        self._known = {prefix for path in self.files for prefix in prefixes(path)}

    def __contains__(self, path: str) -> bool:
        """Whether a path is a file of the tree, or a folder with files below it."""
        return path in self._known

    def below(self, path: str) -> tuple[str, ...]:
        """The file at ``path``, or all files below the folder there."""
        if path not in self._known:
            return ()
        # "0" is the character after "/".
        start, end = bisect_left(self.files, f"{path}/"), bisect_left(self.files, f"{path}0")
        return self.files[start:end] or (path,)

    @cached_property
    def tests(self) -> frozenset[str]:
        """All test files."""
        return frozenset(path for path in self.files if is_test_file(path))

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for path in sorted(self._known):
            found[path.rpartition("/")[2]].append(path)
        return found

    def named(self, name: str) -> tuple[str, ...]:
        """Files and folders of a name, wherever they lie."""
        return tuple(self._by_name.get(name, ()))

    def beginning(self, text: str) -> tuple[str, ...]:
        """Files whose path begins with ``text``, whether or not a component ends there."""
        start = bisect_left(self.files, text)
        end = bisect_left(self.files, f"{text}\U0010ffff")
        return self.files[start:end]
