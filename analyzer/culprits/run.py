"""Drive an investigation: take runs from the journal or the prober, within a budget."""

import logging
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import NoReturn

from gauntlet.analyzer.culprits.answer import Spent, Step
from gauntlet.analyzer.culprits.history import short
from gauntlet.analyzer.culprits.investigation import Investigation
from gauntlet.analyzer.culprits.journal import Journal
from gauntlet.analyzer.culprits.model import Prober, ProbeResult
from gauntlet.analyzer.culprits.track import Ask
from gauntlet.core.errors import InfrastructureError

_LOGGER = logging.getLogger(__name__)
_Turn = tuple[str, ProbeResult | None]
# So many runs in a row that could not tell are an outage, not a commit.
_MOST_INFRA = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How much may be used; None has no limit. Minutes are those of all runs together.

    ``price_per_minute`` turns them into money.
    """

    runs: int | None = None
    minutes: float | None = None
    money: float | None = None
    price_per_minute: float | None = None

    def spent(self, runs: int, seconds: float) -> str:
        """Why no further run may begin; empty where one may."""
        minutes = seconds / 60
        if self.runs is not None and runs >= self.runs:
            return f"the budget of {self.runs} runs is used up"
        if self.minutes is not None and minutes >= self.minutes:
            return f"the budget of {self.minutes:g} minutes is used up"
        cost = self.cost(seconds)
        if self.money is not None and cost is not None and cost >= self.money:
            return f"the budget of {self.money:g} in money is used up"
        return ""

    def room(self, runs: int) -> int | None:
        """How many further runs may begin at once; None: any number."""
        return None if self.runs is None else max(0, self.runs - runs)

    def cost(self, seconds: float) -> float | None:
        """What runs of so many seconds cost; None without a price."""
        return None if self.price_per_minute is None else seconds / 60 * self.price_per_minute


class Drive:
    """One investigation, its journal and what it has used; runs of the journal count."""

    def __init__(
        self,
        investigation: Investigation,
        prober: Prober,
        journal: Journal,
        budget: Budget,
        tell: Callable[[str], None],
        *,
        allowance: Budget | None = None,
    ) -> None:
        """``tell`` gets a line for every run.

        ``budget`` is of the whole search, with the runs of its journal; ``allowance`` of those
        that are made now.
        """
        self._investigation = investigation
        self._prober = prober
        self._journal = journal
        self._budget = budget
        self._tell = tell
        self._allowance = allowance or Budget()
        self._infra: list[ProbeResult] = []
        self._steps: list[Step] = []
        self.stopped = ""

    @property
    def spent(self) -> Spent:
        """What was used so far."""
        seconds = sum(step.seconds for step in self._steps)
        return Spent(
            runs=len(self._steps),
            seconds=seconds,
            cost=self._budget.cost(seconds),
            steps=tuple(self._steps),
        )

    @property
    def made(self) -> Spent:
        """What was used now, without the runs of the journal."""
        steps = tuple(step for step in self._steps if not step.from_journal)
        seconds = sum(step.seconds for step in steps)
        cost = self._budget.cost(seconds)
        return Spent(runs=len(steps), seconds=seconds, cost=cost, steps=steps)

    def run(self) -> None:
        """Go on to the end, or until the budget is spent (see ``stopped``).

        Raises InfrastructureError where runs cannot tell, again and again.
        """
        course = self._investigation.run()
        try:
            ask = next(course)
            while True:
                results = self._results(ask)
                if not results:
                    course.close()
                    return
                stage = ask.stage
                try:
                    ask = course.send([result for result, _ in results])
                finally:
                    self._note(results, stage)
        except StopIteration:
            return

    def _results(self, ask: Ask) -> list[tuple[ProbeResult, bool]]:
        """Results in the order that was asked for, as many as the budget allows."""
        runs, seconds = len(self._steps), self.spent.seconds
        self.stopped = self._budget.spent(runs, seconds)
        if self.stopped:
            return []
        shas = ask.shas[: self._budget.room(runs)]
        turns = self._allowed([(sha, self._journal.take(sha)) for sha in shas])
        wanted = [sha for sha, known in turns if known is None]
        fresh = self._fresh(ask.stage, wanted) if wanted else {}
        return [(known or fresh[sha].popleft(), known is not None) for sha, known in turns]

    def _allowed(self, turns: Sequence[_Turn]) -> Sequence[_Turn]:
        """Turns up to the first that would need a run for which there is no allowance."""
        unknown = [place for place, (_, known) in enumerate(turns) if known is None]
        if not unknown:
            return turns
        made = self.made
        stopped = self._allowance.spent(made.runs, made.seconds)
        room = 0 if stopped else self._allowance.room(made.runs)
        if room is None or room >= len(unknown):
            return turns
        end = unknown[room]
        self.stopped = "" if end else stopped
        return turns[:end]

    def _fresh(self, stage: str, shas: Sequence[str]) -> Mapping[str, deque[ProbeResult]]:
        """Run, and keep each result as it comes: whatever happens next, it is not lost."""
        found: dict[str, deque[ProbeResult]] = defaultdict(deque)
        lost = self._infra
        with closing(self._prober.probe(shas)) as results:
            for result in results:
                self._journal.add(stage, result)
                found[result.sha].append(result)
                if result.outcome == "infra":
                    lost.append(result)
                else:
                    lost.clear()
        if len(lost) >= _MOST_INFRA:
            self._give_up(lost[-1])
        return found

    def _give_up(self, last: ProbeResult) -> NoReturn:
        said = last.evidence or "no word"
        msg = f"{len(self._infra)} runs in a row could not tell; the last: {said}"
        raise InfrastructureError(msg, hint="repair that, and give the same command: it continues")

    def _note(self, results: Sequence[tuple[ProbeResult, bool]], stage: str) -> None:
        """Keep and tell what was run, with what is believed after all of it."""
        standing = self._investigation.track.search.standing()
        suspect = {
            "nobody": "nobody",
            "before": "before the range",
        }.get(standing.ending) or self._investigation.case.at(standing.last).sha
        for number, (result, known) in enumerate(results, len(self._steps) + 1):
            self._steps.append(
                Step(
                    stage=stage,
                    sha=result.sha,
                    outcome=result.outcome,
                    seconds=round(result.seconds, 3),
                    evidence=result.evidence,
                    value=result.value,
                    suspect=suspect,
                    probability=standing.probability,
                    from_journal=known,
                )
            )
            value = f" {result.value:g}" if result.value is not None else ""
            again = " (from the journal)" if known else ""
            self._tell(
                f"{number:3} {stage:6} {short(result.sha)} {result.outcome}{value}{again}"
                f" | {short(suspect)} {standing.probability:.2%}"
            )
