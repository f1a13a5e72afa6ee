"""A column: what each commit says of one cause in one job. A test, or a failure that is none's."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from gauntlet.analyzer.incidents.history import Mainline, Run

Says = Literal["good", "bad", "mixed", "nothing"]


class Track(NamedTuple):
    """What a column follows: the test of that id, or the signature of a job's own failure."""

    kind: Literal["test", "job"]
    name: str


@dataclass(frozen=True, slots=True)
class Cell:
    """What the runs of one job at one commit say of one track, oldest first.

    ``absent`` says that every shard that ever failed ran here, and none had it: it did not exist.
    """

    position: int
    good: tuple[Run, ...]
    bad: tuple[Run, ...]
    absent: bool = False

    @property
    def says(self) -> Says:
        """One word for the commit."""
        if self.good and self.bad:
            return "mixed"
        return "good" if self.good else "bad" if self.bad else "nothing"

    @property
    def turned_bad(self) -> bool:
        """Whether the same commit passed first and only failed later."""
        return bool(self.good and self.bad) and self.good[-1].at < self.bad[0].at


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One track in one job: a cell for each commit at which the job ran, oldest first."""

    job_key: str
    track: Track
    cells: tuple[Cell, ...]


@dataclass(slots=True)
class _Draft:
    good: list[Run] = field(default_factory=list)
    bad: list[Run] = field(default_factory=list)
    without: list[Run] = field(default_factory=list)


def columns_of(mainline: Mainline, job_key: str, runs: Sequence[Run]) -> list[Column]:
    """Columns of one job: one for each test that failed, and for each failure that names none.

    ``runs`` are those of the job in merge order.
    """
    tests: dict[str, set[int | None]] = defaultdict(set)
    signatures: dict[str, set[int | None]] = defaultdict(set)
    for run in runs:
        if run.outcome != "failed":
            continue
        for nodeid in run.failing:
            tests[nodeid].add(run.shard)
        if not run.failing:
            signatures[signature_of(run)].add(run.shard)
    tracks = [(Track("test", name), shards) for name, shards in sorted(tests.items())]
    tracks += [(Track("job", name), shards) for name, shards in sorted(signatures.items())]
    return [
        Column(
            job_key=job_key,
            track=track,
            cells=tuple(_cells(mainline, track, frozenset(shards), runs)),
        )
        for track, shards in tracks
    ]


def signature_of(run: Run) -> str:
    """The signature of a run's failure; one that nobody classified is known by its job alone."""
    return run.signature or f"{run.failure_class or 'unclassified'}: {run.job_key}"


def _cells(
    mainline: Mainline, track: Track, shards: frozenset[int | None], runs: Iterable[Run]
) -> Iterable[Cell]:
    drafts: dict[int, _Draft] = defaultdict(_Draft)
    for run in runs:
        draft = drafts[mainline.positions[run.sha]]
        if _failed_so(track, run):
            draft.bad.append(run)
        elif _passed_so(track, shards, run):
            draft.good.append(run)
        elif run.reported or run.outcome == "passed":
            draft.without.append(run)
    for position, draft in sorted(drafts.items()):
        good = _whole(track, draft.good, shards)
        absent = not (good or draft.bad) and shards <= {run.shard for run in draft.without}
        yield Cell(position, tuple(good), tuple(draft.bad), absent=absent)


def _failed_so(track: Track, run: Run) -> bool:
    if run.outcome != "failed":
        return False
    if track.kind == "test":
        return track.name in run.failing
    return not run.failing and signature_of(run) == track.name


def _passed_so(track: Track, shards: frozenset[int | None], run: Run) -> bool:
    """Whether a run shows that the track is good; a shard that never had it shows nothing."""
    if track.kind == "test" and run.reported:
        return track.name in run.passing
    return run.outcome == "passed" and run.shard in shards


def _whole(track: Track, good: list[Run], shards: frozenset[int | None]) -> list[Run]:
    """Passes that count: where several shards ever failed, only if each of them has passed."""
    if track.kind == "test" and any(track.name in run.passing for run in good):
        return good
    return good if shards <= {run.shard for run in good} else []
