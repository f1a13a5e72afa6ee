"""What a changed file means for jobs: inert files, run-all patterns, declared dependencies.

All lookups are by prefix in dictionaries, so that hundreds of jobs and files stay quick.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from gauntlet.pipelines.commands import Targets, covers, is_glob, named_files, pytest_calls
from gauntlet.pipelines.definitions.job import BrokenJob, Definitions, Job

DOCUMENTATION = ("docs/*", "*.md", "mkdocs.yaml", "mkdocs.yml")
# Files that no build or test reads. Anything that is not listed counts.
INERT = (
    *DOCUMENTATION,
    # What GitHub itself reads, and the linters that it runs.
    ".github/*",
    ".pre-commit-config.yaml",
    ".gitignore",
    ".git-blame-ignore-revs",
    ".mailmap",
    "CITATION.cff",
    "DCO",
    "LICENSE",
    "NOTICE",
)


def is_documentation(path: str) -> bool:
    """Whether a path is documentation."""
    return any(fnmatchcase(path, pattern) for pattern in DOCUMENTATION)


def is_inert(path: str) -> bool:
    """Whether a path can change no build and no test."""
    return any(fnmatchcase(path, pattern) for pattern in INERT)


def prefixes(path: str) -> Iterator[str]:
    """Yield the path and every folder above it, longest first."""
    while path:
        yield path
        path = path.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class Hit:
    """One changed file that concerns one job, and the entry by which it does."""

    rule: str
    file: str
    entry: str


class RunAll:
    """The pipeline's run-all patterns: regular expressions anchored at the start of a path.

    A pattern that does not compile is read as plain text, which the engine's patterns mean.
    """

    def __init__(self, include: Iterable[str], exclude: Iterable[str]) -> None:
        self._include = [(pattern, _compiled(pattern)) for pattern in include]
        self._exclude = [_compiled(pattern) for pattern in exclude]

    def match(self, path: str) -> str | None:
        """The pattern by which a path re-runs everything, or None."""
        if any(pattern.match(path) for pattern in self._exclude):
            return None
        return next((text for text, pattern in self._include if pattern.match(path)), None)


class Elsewhere:
    """Files and folders of other pipelines in the same tree."""

    def __init__(self, definitions: Definitions) -> None:
        patterns = definitions.elsewhere
        self._own = definitions.config_file
        self._plain = frozenset(pattern for pattern in patterns if not is_glob(pattern))
        self._globs = tuple(pattern for pattern in patterns if is_glob(pattern))

    def match(self, path: str) -> bool:
        """Whether a path belongs to another pipeline."""
        if path == self._own:
            return False
        if any(prefix in self._plain for prefix in prefixes(path)):
            return True
        return any(covers(pattern, path) for pattern in self._globs)


class Owners:
    """Which jobs a changed file concerns, by definition, test or declared dependency."""

    def __init__(self, definitions: Definitions) -> None:
        self._entries: dict[str, list[tuple[str, str]]] = defaultdict(list)
        self._excluded: dict[str, dict[str, str]] = defaultdict(dict)
        self._files: dict[str, list[str]] = defaultdict(list)
        self._tests = _Tests(definitions.jobs)
        self._named: dict[str, list[str]] = defaultdict(list)
        for job in definitions.jobs:
            self._files[job.file].append(job.key)
            calls = pytest_calls(job.commands, job.working_dir)
            ignored = {path for call in calls for path in call.ignored}
            for named in named_files(job.commands, job.working_dir):
                if named not in ignored:
                    self._named[named].append(job.key)
            for entry in job.source_dependencies:
                if entry.startswith("!"):
                    self._excluded[entry[1:].rstrip("/")].setdefault(job.key, entry)
                elif entry.rstrip("/"):
                    self._entries[entry.rstrip("/")].append((job.key, entry))
        for broken in definitions.broken:
            self._files[broken.file].append(broken.key)

    def hits(self, path: str) -> list[tuple[str, Hit]]:
        """Every job key that a path concerns, with the entry that says so."""
        found = [(key, Hit("changed-definition", path, path)) for key in self._files.get(path, ())]
        found += self._tests.hits(path)
        found += [(key, Hit("named-file", path, path)) for key in self._named.get(path, ())]
        excluded = self.exclusions(path)
        seen: set[str] = set()
        for prefix in prefixes(path):
            for key, entry in self._entries.get(prefix, ()):
                if key not in excluded and key not in seen:
                    seen.add(key)
                    found.append((key, Hit("declared-dependency", path, entry)))
        return found

    def exclusions(self, path: str) -> dict[str, str]:
        """Jobs that refuse a path, each with the ``!`` entry by which it does."""
        refused: dict[str, str] = {}
        for prefix in prefixes(path):
            for key, entry in self._excluded.get(prefix, {}).items():
                refused.setdefault(key, entry)
        return refused


class _Tests:
    """Which jobs run a test file, by the paths that their pytest commands name.

    Every call of pytest counts by itself: one may run what another one leaves out.
    """

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._plain: dict[str, list[tuple[str, Targets]]] = defaultdict(list)
        self._globs: list[tuple[str, str, Targets]] = []
        for job in jobs:
            for call in pytest_calls(job.commands, job.working_dir):
                for target in call.named:
                    if is_glob(target):
                        self._globs.append((target, job.key, call))
                    else:
                        self._plain[target].append((job.key, call))

    def hits(self, path: str) -> list[tuple[str, Hit]]:
        """Every job that runs the test file at ``path``, with what names it."""
        if not path.startswith("tests/"):
            return []
        named = [
            (key, prefix, call)
            for prefix in prefixes(path)
            for key, call in self._plain.get(prefix, ())
        ]
        named += [(key, glob, call) for glob, key, call in self._globs if covers(glob, path)]
        return [
            (key, Hit("changed-test", path, target))
            for key, target, call in named
            if not any(covers(entry, path) for entry in call.ignored)
        ]


def by_key(definitions: Definitions) -> dict[str, Job | BrokenJob]:
    """All jobs, broken ones too, by key."""
    jobs: list[Job | BrokenJob] = [*definitions.jobs, *definitions.broken]
    return {job.key: job for job in jobs}


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error:
        return re.compile(re.escape(pattern))
