"""A streak: the unbroken run of failures at the end of a column, and where it began."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from gauntlet.analyzer.flakes.judge import History, judge
from gauntlet.analyzer.incidents.columns import Cell, Column
from gauntlet.analyzer.incidents.history import Run

# One report without a test may be a report that was cut short.
_GONE_AFTER = 2


@dataclass(frozen=True)
class Streak:
    """Failures since the last pass of one track in one job. Positions are of the mainline.

    ``last_good`` is None where it never passed in this history. ``turned_bad`` are commits that
    passed first and failed later without a change of their own.
    """

    column: Column
    bad: tuple[Cell, ...]
    last_good: int | None
    turned_bad: tuple[Cell, ...]
    intermittent: bool
    """It fails often since a change, and passes now and then; the range is what 99 % cover."""
    flakes: int
    """Runs before the streak that failed though their commit, or those on either side, passed."""
    passes_before: int

    first_bad: int
    """Position of the first commit of the streak; that the culprit is not newer is certain."""

    @cached_property
    def failures(self) -> tuple[Run, ...]:
        """Failed runs of the streak, oldest commit first."""
        return tuple(run for cell in self.bad for run in cell.bad)

    @property
    def never_passed(self) -> bool:
        """Whether this history holds no pass at all."""
        return self.last_good is None and not self.turned_bad

    @cached_property
    def absent_until(self) -> int | None:
        """Position of the newest commit before the streak at which what fails did not exist.

        None where it was there before, or nobody can tell. What fails from its first run on was
        broken by the commit that added it.
        """
        if not self.never_passed:
            return None
        before = [cell for cell in self.column.cells if cell.position < self.first_bad]
        absent = [cell.position for cell in before if cell.absent]
        return absent[-1] if absent else None


def find_streak(column: Column) -> Streak | None:
    """Walk back from the newest commit that says anything; None where that one is good.

    A commit that failed and then passed when it was run again is good: it ends the streak, and
    counts as a flake. One that passed and failed later belongs to the streak: nothing that was
    committed explains it. What fails more often than not since a change is broken all the same,
    though it passes now and then: then the change is looked for by rate.
    """
    if is_gone(column):
        return None
    told = [cell for cell in column.cells if cell.says != "nothing"]
    bad: list[Cell] = []
    while told and (told[-1].says == "bad" or told[-1].turned_bad):
        bad.append(told.pop())
    if any(cell.says == "mixed" for cell in told):
        often = _often_bad(column, [*told, *reversed(bad)])
        if often is not None:
            return often
    if not bad:
        return None
    bad.reverse()
    return Streak(
        column=column,
        bad=tuple(bad),
        last_good=told[-1].position if told else None,
        first_bad=bad[0].position,
        turned_bad=tuple(cell for cell in bad if cell.says == "mixed"),
        intermittent=False,
        flakes=sum(len(cell.bad) for cell in _alone(told)),
        passes_before=sum(len(cell.good) for cell in told),
    )


def is_gone(column: Column) -> bool:
    """Whether what a column follows does not exist any more: runs since then do not have it."""
    last = column.cells[-_GONE_AFTER:]
    return len(last) == _GONE_AFTER and all(cell.absent for cell in last)


def _often_bad(column: Column, told: Sequence[Cell]) -> Streak | None:
    """A break that is no certain one: the rate of failures changed, and is above a half since."""
    runs = [(run.at, run in cell.bad, cell) for cell in told for run in (*cell.good, *cell.bad)]
    runs.sort(key=lambda each: (each[2].position, each[0]))
    found = judge(
        History(
            failed=tuple(failed for _, failed, _ in runs),
            commits=tuple(str(cell.position) for _, _, cell in runs),
        )
    )
    if found.state != "broken" or found.since is None or found.suspects is None:
        return None
    if found.streak >= len(runs) - found.since:
        return None  # an unbroken streak: nothing has to be looked for by rate
    low, high = found.suspects
    first_bad = runs[high][2].position
    before = runs[:low]
    return Streak(
        column=column,
        bad=tuple(cell for cell in told if cell.bad and cell.position >= first_bad),
        last_good=before[-1][2].position if before else None,
        first_bad=first_bad,
        turned_bad=(),
        intermittent=True,
        flakes=sum(failed for _, failed, _ in before),
        passes_before=sum(not failed for _, failed, _ in before),
    )


def _alone(told: Sequence[Cell]) -> Iterable[Cell]:
    """Cells of failures that no break explains: longer runs of them are breaks, since repaired."""
    for says, cells in groupby(told, key=lambda cell: cell.says):
        found = list(cells)
        if says == "mixed" or (says == "bad" and len(found) == 1):
            yield from found
