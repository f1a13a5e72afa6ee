"""What the history of an incident tells of its commits before anybody searches. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gauntlet.analyzer.culprits.model import Seen
from gauntlet.analyzer.culprits.rates import Rates
from gauntlet.analyzer.incidents.columns import Cell, Column, Track, columns_of
from gauntlet.analyzer.incidents.evidence import flake_rate
from gauntlet.analyzer.incidents.history import History, Run
from gauntlet.analyzer.incidents.incident import Incident
from gauntlet.analyzer.incidents.renames import with_old_names
from gauntlet.analyzer.incidents.streaks import Streak, find_streak

# More tests of one cause take longer and tell no more.
_MOST_TESTS = 5
# So many failures since a pass are no flakes, at any rate that is worth a search.
_NO_FLAKES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is run at each commit: a job, or its failing tests alone.

    ``born_red``: it never passed; a commit that does not have it counts as one where it passes.
    """

    job: str
    tests: tuple[str, ...] = ()
    born_red: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A target, and how it fared at each commit."""

    target: Target
    column: Column
    streak: Streak | None
    history: History

    def seen(self, *, without: str = "") -> Mapping[str, Seen]:
        """Failures and passes by commit; runs whose address stands in ``without`` are left out."""
        commits, ours = self.history.mainline.commits, frozenset(without.split())
        return {
            commits[cell.position].sha: Seen(
                failed=sum(run.url not in ours for run in cell.bad),
                passed=sum(run.url not in ours for run in cell.good),
            )
            for cell in self.column.cells
        }

    def until(self, first_bad: int) -> int:
        """Position of the newest commit that has to be suspected.

        The first failure may be a flake that stands before the break: a commit is the last only
        where so many runs have failed that they cannot all be.
        """
        failures = 0
        for cell in self.column.cells:
            if cell.position >= first_bad:
                failures += len(cell.bad)
                if cell.bad and failures >= _NO_FLAKES:
                    return cell.position
        return max((c.position for c in self.column.cells if c.bad), default=first_bad)

    def rates(self) -> Rates:
        """How often it fails by chance, and where it is broken.

        Raises ValueError where no run could tell one from the other.
        """
        streak = self.streak
        if streak is None or streak.never_passed:
            return Rates.around()
        flake = flake_rate(streak.flakes, streak.passes_before)
        if not streak.intermittent:
            return Rates.around(flake)
        since = [cell for cell in self.column.cells if cell.position >= streak.first_bad]
        failed = sum(len(cell.bad) for cell in since)
        passed = sum(len(cell.good) for cell in since)
        return Rates.around(flake, (failed + 0.5) / (failed + passed + 1))


def told_of(incident: Incident, history: History, *, whole_job: bool) -> Told:
    """Choose what to run for an incident: the job that tells most, and its tests that passed once.

    ``whole_job``: runs show the job, not single tests, so that its other failures count as well.
    """
    history, _ = with_old_names(history)
    found = [_told(incident, history, job, whole_job=whole_job) for job in incident.jobs]
    return max(found, key=lambda told: (_weight(told, incident), told.target.job))


def _told(incident: Incident, history: History, job: str, *, whole_job: bool) -> Told:
    runs = [run for run in history.runs if run.job_key == job]
    every = [c for c in columns_of(history.mainline, job, runs) if c.track.kind == "test"]
    mine = [column for column in every if column.track.name in incident.tests]
    born_red = incident.last_good is None
    columns = _chosen(mine, incident, history, born_red=born_red)
    names = tuple(column.track.name for column in columns)
    column = _joined(job, columns) if columns and not whole_job else _whole(job, history, runs)
    return Told(
        target=Target(job=job, tests=names, born_red=born_red),
        column=column,
        streak=find_streak(column),
        history=history,
    )


def _chosen(
    columns: Sequence[Column], incident: Incident, history: History, *, born_red: bool
) -> Sequence[Column]:
    """Tests that all existed at the good commit; of those born red one, which one commit added."""
    if born_red:
        return columns[:1]
    good = history.mainline.positions.get(incident.last_good or "")
    passed = [c for c in columns if any(e.position == good and e.good for e in c.cells)]
    return (passed or columns)[:_MOST_TESTS]


def _joined(job: str, columns: Sequence[Column]) -> Column:
    """A run of several tests fails where any of them does."""
    positions = sorted({cell.position for column in columns for cell in column.cells})
    cells = []
    for position in positions:
        mine = [cell for column in columns for cell in column.cells if cell.position == position]
        bad = {run.job_id: run for cell in mine for run in cell.bad}
        good = {run.job_id: run for cell in mine for run in cell.good if run.job_id not in bad}
        cells.append(_cell(position, good.values(), bad.values()))
    return Column(job_key=job, track=Track("test", columns[0].track.name), cells=tuple(cells))


def _whole(job: str, history: History, runs: Iterable[Run]) -> Column:
    """How the job as a whole ended; it passed where every shard that ever failed did."""
    by_place: dict[int, list[Run]] = {}
    for run in runs:
        by_place.setdefault(history.mainline.positions[run.sha], []).append(run)
    shards = {run.shard for found in by_place.values() for run in found if run.outcome == "failed"}
    cells = []
    for position, found in sorted(by_place.items()):
        bad = [run for run in found if run.outcome == "failed"]
        good = [run for run in found if run.outcome == "passed" and run.shard in shards]
        whole = shards <= {run.shard for run in good}
        cells.append(_cell(position, good if whole else (), bad))
    return Column(job_key=job, track=Track("job", job), cells=tuple(cells))


def _cell(position: int, good: Iterable[Run], bad: Iterable[Run]) -> Cell:
    """Passes of all shards together are one pass."""
    passed = sorted(good, key=lambda run: run.at)
    count = min(Counter(run.shard for run in passed).values(), default=0)
    failed = sorted(bad, key=lambda run: run.at)
    return Cell(position, tuple(passed[-count:] if count else ()), tuple(failed))


def _weight(told: Told, incident: Incident) -> int:
    """How many commits of the range, and the good one, it says something of."""
    ends = {incident.last_good or "", *(commit.sha for commit in incident.suspects)}
    seen = told.seen()
    return sum(bool(seen[sha].failed or seen[sha].passed) for sha in ends & seen.keys())
