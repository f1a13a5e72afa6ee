"""One line of commits under search, and the proof of a suspect on it: outcomes, or numbers."""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from gauntlet.analyzer.culprits.metric import PROOF_BLOCKS, MetricSearch, judge_step
from gauntlet.analyzer.culprits.model import ProbeResult, Seen
from gauntlet.analyzer.culprits.posterior import Posterior
from gauntlet.analyzer.culprits.search import Search
from gauntlet.analyzer.culprits.verify import Proof, Runs, WeighedRates, judge, lacks_proof
from gauntlet.core.errors import InvalidMeasurementError

Stage = Literal["ends", "search", "proof", "alone", "sweep", "second"]

_MOST_PROOF_RUNS = 60
# So often may the machine fail at one commit before the commit counts as one that cannot be run.
_MOST_INFRA = 3

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Runs that are wanted now, side by side where that can be."""

    stage: Stage
    shas: tuple[str, ...]


Asking = Generator[Ask, Sequence[ProbeResult], T]
"""Asks for runs, is sent their results (fewer where a budget ends), and returns what it found."""


class Track(ABC):
    """Places 0 … n of a search, and the commit that is run at each.

    ``sha_at`` gives None where no commit can be made, as where a revert does not apply.
    """

    def __init__(self, search: Posterior, sha_at: Callable[[int], str | None]) -> None:
        self.search = search
        self.sha_at = sha_at
        self._infra: Counter[int] = Counter()
        self._ran: set[int] = set()

    def ask(self, stage: Stage, places: Sequence[int]) -> Asking[list[tuple[int, ProbeResult]]]:
        """Run at some places and take note of the results."""
        shas: dict[int, str] = {}
        for place in places:
            sha = self.sha_at(place)
            if sha is None:
                self.search.unbuildable.add(place)
            else:
                shas[place] = sha
        wanted = [place for place in places if place in shas]
        if not wanted:
            return []
        results = yield Ask(stage=stage, shas=tuple(shas[place] for place in wanted))
        found = list(zip(wanted, results, strict=False))
        for place, result in found:
            self.record(place, result)
        return found

    def record(self, place: int, result: ProbeResult) -> None:
        """Take note of one result."""
        if result.outcome == "unbuildable":
            self.search.unbuildable.add(place)
        elif result.outcome == "infra":
            self._infra[place] += 1
            if self._infra[place] >= _MOST_INFRA and place not in self._ran:
                self.search.unbuildable.add(place)
        else:
            self._ran.add(place)
            self.observe(place, result)

    @abstractmethod
    def observe(self, place: int, result: ProbeResult) -> None:
        """Take note of a result that says something."""

    @abstractmethod
    def prove(self, first: int, last: int, at_once: int, stage: Stage) -> Asking[Proof]:
        """Run ``last`` and what lies before ``first`` until it is clear which of them is broken."""

    def believed(self, first: int, last: int) -> float:
        """How likely the culprit is one of ``first`` … ``last``."""
        return float(self.search.posterior()[first : last + 1].sum())


class OutcomeTrack(Track):
    """Commits that pass or fail."""

    search: Search

    def __init__(
        self,
        search: Search,
        sha_at: Callable[[int], str | None],
        *,
        unproving: Mapping[int, Seen] | None = None,
    ) -> None:
        """``unproving`` are runs that the search has, by place, and that no proof may use."""
        super().__init__(search, sha_at)
        self._known: dict[int, Seen] = {}
        self._unproving: dict[int, Seen] = dict(unproving or {})

    def know(self, place: int, seen: Seen, *, prove: bool) -> None:
        """Take note of runs from before the search, and whether they may ``prove`` anything."""
        self.search.failed[place] += seen.failed
        self.search.passed[place] += seen.passed
        self._known[place] = seen
        if not prove:
            self._unproving[place] = seen

    def unproving(self, start: int, end: int) -> Mapping[int, Seen]:
        """Runs that prove nothing at places of a part, by the places of that part."""
        found = self._unproving.items()
        return {place - start: seen for place, seen in found if start <= place <= end}

    def made(self, place: int) -> Seen:
        """How often the commit at a place failed and passed in this search."""
        return self._less(place, self._known)

    def _less(self, place: int, without: Mapping[int, Seen]) -> Seen:
        known = without.get(place, Seen())
        failed, passed = self.search.failed[place], self.search.passed[place]
        return Seen(int(failed) - known.failed, int(passed) - known.passed)

    def observe(self, place: int, result: ProbeResult) -> None:
        """Count a pass or a failure."""
        self.search.record(place, result.outcome)

    def rates(self) -> WeighedRates:
        """Rates as believed after all runs."""
        flake, broken, _ = self.search.rates.grid()
        return WeighedRates(flake=flake, broken=broken, weights=self.search.rate_weights())

    def runs(self, place: int, confirmed: int = 0) -> Runs:
        """How often the commit at a place failed and passed, as far as that proves anything."""
        seen = self._less(place, self._unproving)
        return Runs(failed=seen.failed, passed=seen.passed, confirmed=confirmed)

    def prove(self, first: int, last: int, at_once: int, stage: Stage) -> Asking[Proof]:
        """Run suspect and parent in turn until both are settled."""
        parent = self.search.parent(first)
        if parent is None:
            return "undecided"
        confirmed = {parent: 0, last: 0}
        for _ in range(_MOST_PROOF_RUNS):
            rates = self.rates()
            suspect, before = self.runs(last, confirmed[last]), self.runs(parent, confirmed[parent])
            proof = judge(suspect, before, rates)
            if proof == "undecided" and self.believed(first, last) < 0.5:
                proof = "refuted"
            if proof != "undecided":
                return proof
            wanted = [parent] if lacks_proof(before, rates, broken=False) else []
            wanted += [last] if lacks_proof(suspect, rates, broken=True) else []
            count = max(at_once, len(wanted))
            found = yield from self.ask(stage, [wanted[i % len(wanted)] for i in range(count)])
            for place, result in found:
                confirmed[place] += result.outcome == ("failed" if place == last else "passed")
            if {parent, last} & self.search.unbuildable:
                return "refuted"
        return "undecided"


class MetricTrack(Track):
    """Commits at which a number is measured."""

    search: MetricSearch

    def __init__(self, search: MetricSearch, sha_at: Callable[[int], str | None]) -> None:
        super().__init__(search, sha_at)

    def observe(self, place: int, result: ProbeResult) -> None:
        """Take the logarithm of a number. Raises InvalidMeasurementError where there is none."""
        if result.value is None or not (math.isfinite(result.value) and result.value > 0):
            msg = f"a run at {result.sha} ended well without a number above zero"
            raise InvalidMeasurementError(msg, hint="what does the command print?")
        self.search.record(place, math.log(result.value))

    def prove(self, first: int, last: int, at_once: int, stage: Stage) -> Asking[Proof]:
        """Run suspect and parent as A B B A until the judge of comparisons is sure."""
        del at_once  # Turns stand in an order that cancels drift; side by side they have none.
        parent = self.search.parent(first)
        if parent is None:
            return "undecided"
        expected = self.search.step(last)
        turns: list[tuple[float, float]] = []
        for _ in range(PROOF_BLOCKS):
            for order in ((parent, last), (last, parent)):
                logs: dict[int, float] = {}
                for place in order:
                    for _place, result in (yield from self.ask(stage, [place])):
                        if result.value is not None and result.value > 0:
                            logs[place] = math.log(result.value)
                if len(logs) == 2:
                    turns.append((logs[parent], logs[last]))
            if {parent, last} & self.search.unbuildable:
                return "refuted"
            proof = judge_step(turns, expected)
            if proof != "undecided":
                return proof
        return "undecided"
