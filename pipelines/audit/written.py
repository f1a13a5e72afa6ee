"""Jobs as they stand in their files: own entries, and the line of everything that is written."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gauntlet.core.yaml_file import KeyPath, YamlDocument
from gauntlet.pipelines.definitions.job import Job
from gauntlet.pipelines.definitions.keys import slug
from gauntlet.pipelines.definitions.native_models import MARKER

_DEPENDENCIES = "source_file_dependencies"
_Raw = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of ``source_file_dependencies`` and the line on which it stands."""

    text: str
    line: int | None

    @property
    def excludes(self) -> bool:
        """Whether the entry takes files away from the others."""
        return self.text.startswith("!")

    @property
    def path(self) -> str:
        """The file or folder that it names, as rules compare it."""
        return self.text.removeprefix("!").rstrip("/")


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenJob:
    """A job and the place of its definition; ``entries`` leave out what a mirror inherits."""

    job: Job
    keyed: bool
    entries: tuple[Entry, ...]
    document: YamlDocument
    place: KeyPath

    def line(self, *keys: str | int) -> int | None:
        """Line of a key of the definition, or of the definition where it has no such key."""
        return self.document.line((*self.place, *keys))

    def effective(self) -> tuple[Entry, ...]:
        """Own entries with their lines, then inherited ones without."""
        own = {entry.text for entry in self.entries}
        inherited = (text for text in self.job.source_dependencies if text not in own)
        return (*self.entries, *(Entry(text, None) for text in inherited))


def written_jobs(
    jobs: Iterable[Job], documents: Mapping[str, YamlDocument]
) -> tuple[WrittenJob, ...]:
    """Find every job in the file that defines it, in the order of ``jobs``."""
    places: dict[tuple[str, str], tuple[KeyPath, _Raw]] = {}
    for file in {job.file: None for job in jobs}:
        for key, place, raw in _places(documents[file].value):
            # Of two jobs with one key in one file, the first is the one that runs.
            places.setdefault((file, key), (place, raw))
    return tuple(_written(job, documents[job.file], *places[job.file, job.key]) for job in jobs)


def _places(value: object) -> Iterator[tuple[str, KeyPath, _Raw]]:
    """Key, place and content of every job of a file, and of every row or mirror of it."""
    if not isinstance(value, dict):
        return
    name = "jobs" if MARKER in value else "steps"
    for index, step in _mappings(value.get(name)):
        label = str(step.get("label"))
        pool = step.get("agent_pool")
        key = str(step.get("key") or slug(f"{label} {pool}" if pool else label))
        yield key, (name, index), step
        # The first vendor is the job itself, and stands where the job does.
        others = {"vendors": _items(step, "vendors")[1:], "mirror": _items(step, "mirror")}
        for kind, rows in others.items():
            for vendor, row in rows:
                own = str(row.get("key") or f"{vendor.replace('_', '-')}-{key}")
                yield own, (name, index, kind, vendor), row


def _mappings(value: object) -> Iterator[tuple[int, _Raw]]:
    for index, item in enumerate(value if isinstance(value, list) else ()):
        if isinstance(item, dict):
            yield index, item


def _items(step: _Raw, key: str) -> list[tuple[str, _Raw]]:
    rows = step.get(key)
    if not isinstance(rows, dict):
        return []
    return [(str(name), row) for name, row in rows.items() if isinstance(row, dict)]


def _written(job: Job, document: YamlDocument, place: KeyPath, raw: _Raw) -> WrittenJob:
    listed = raw.get(_DEPENDENCIES) or ()
    texts = (listed,) if isinstance(listed, str) else tuple(map(str, listed))
    return WrittenJob(
        job=job,
        keyed=bool(raw.get("key")),
        entries=tuple(
            Entry(text, document.line((*place, _DEPENDENCIES, index)))
            for index, text in enumerate(texts)
        ),
        document=document,
        place=place,
    )
