"""Drive an investigation: take runs from the journal or the prober, within a budget."""

import logging
from collections.abc import Callable, Sequence
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
    ) -> None:
        """``tell`` gets a line for every run."""
        self._investigation = investigation
        self._prober = prober
        self._journal = journal
        self._budget = budget
        self._tell = tell
        self._infra = 0
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
        shas = list(ask.shas[: self._budget.room(runs)])
        kept = [self._journal.take(sha) for sha in shas]
        wanted = [sha for sha, known in zip(shas, kept, strict=True) if known is None]
        fresh = iter(self._fresh(ask.stage, wanted) if wanted else ())
        return [(known or next(fresh), known is not None) for known in kept]

    def _fresh(self, stage: str, shas: Sequence[str]) -> Sequence[ProbeResult]:
        results = self._prober.probe(shas)
        for result in results:
            self._journal.add(stage, result)
            self._infra = self._infra + 1 if result.outcome == "infra" else 0
        if self._infra >= _MOST_INFRA:
            self._give_up(results[-1])
        return results

    def _give_up(self, last: ProbeResult) -> NoReturn:
        msg = f"{self._infra} runs in a row could not tell; the last: {last.evidence or 'no word'}"
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
