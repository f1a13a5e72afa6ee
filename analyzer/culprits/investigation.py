"""From a range to proof: which runs are wanted next, and what they have shown. Runs nothing.

The stages: both ends; the search; the proof of a suspect beside its parent; the bad commit with the
culprit taken back, which tells whether it broke alone; and, where it did not, a second search.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from gauntlet.analyzer.culprits.history import short
from gauntlet.analyzer.culprits.metric import Levels, MetricSearch
from gauntlet.analyzer.culprits.model import Commit, Seen
from gauntlet.analyzer.culprits.patterns import BrokenTwice, broken_twice
from gauntlet.analyzer.culprits.posterior import Standing
from gauntlet.analyzer.culprits.rates import Rates
from gauntlet.analyzer.culprits.search import Search
from gauntlet.analyzer.culprits.track import Asking, MetricTrack, OutcomeTrack, Stage, Track
from gauntlet.analyzer.culprits.verify import Proof, settled
from gauntlet.core.errors import InfrastructureError

SUSPECT = 0.99
"""A suspect is proven from here on: the proof adds the runs that tell most about it anyway."""
CERTAIN = 0.9999
"""Nothing is said below."""

_TWICE = 0.9
_MOST_REFUTED = 3
_MOST_ALONE = 40
_METRIC_ENDS = 3
_SWEEP = (0.25, 0.5, 0.75)

Without = Callable[[str, str], str | None]
"""Makes a commit (first) with the changes of an earlier one (second) taken back, or gives None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is to be found: ``commits`` oldest first, ``prior`` their shares.

    ``levels`` are those of a metric; ``metric`` searches numbers instead of outcomes. ``nobody``
    and ``before`` are the probabilities that no commit did it, and that good is broken too.
    ``seen`` are runs from before the search, by commit: they tell where to look; they count in a
    proof too where they ``prove`` (they ran where the search runs), beside at least one new run.
    """

    good: Commit
    commits: tuple[Commit, ...]
    prior: tuple[float, ...]
    rates: Rates = field(default_factory=Rates.around)
    at_once: int = 1
    metric: bool = False
    levels: Levels | None = None
    without: Without | None = None
    nobody: float = 0.1
    before: float = 0.02
    seen: Mapping[str, Seen] = field(default_factory=dict)
    prove: bool = False

    def at(self, place: int) -> Commit:
        """The commit at a place; 0 is the good one."""
        return self.commits[place - 1] if place else self.good


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One culprit, at a place of the range. ``alone``: taking it back alone repairs the bad
    commit; None where that was not tried or could not be.
    """

    place: int
    probability: float
    proof: Proof
    alone: bool | None = None


@dataclass(slots=True)
class Conclusion:
    """What is known so far; ``ending`` is None until the search has one."""

    ending: Literal["culprit", "range", "nobody", "before"] | None = None
    found: list[Found] = field(default_factory=list)
    first: int = 0
    last: int = 0
    probability: float = 0.0
    proof: Proof = "undecided"
    reasons: list[str] = field(default_factory=list)


class Investigation:
    """One search from its first run to its proof. ``conclusion`` is good at any time."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.conclusion = Conclusion()
        self.track = self._track()

    def _track(self) -> Track:
        case = self.case

        def sha_at(place: int) -> str:
            return case.at(place).sha

        shares = {"nobody": case.nobody, "before": case.before}
        if case.metric:
            return MetricTrack(MetricSearch(case.prior, case.levels, **shares), sha_at)
        track = OutcomeTrack(Search(case.prior, case.rates, **shares), sha_at)
        for place in range(len(case.commits) + 1):
            track.know(place, case.seen.get(sha_at(place), Seen()), prove=case.prove)
        return track

    def run(self) -> Asking[None]:
        """Ask for runs until there is nothing more to learn.

        Raises InfrastructureError where an end of the range cannot be run at all.
        """
        yield from self._ends()
        track = self.track
        if isinstance(track, OutcomeTrack) and (yield from self._turned(track)):
            return
        standing, proof = yield from _seek(track, self.case.at_once, "search")
        twice = _twice(track)
        if twice is not None and isinstance(track, OutcomeTrack):
            yield from self._after_repair(track, twice)
            return
        self._conclude(standing, proof)
        if self.conclusion.ending == "culprit" and isinstance(track, OutcomeTrack):
            yield from self._alone(track, self.conclusion.found[0])

    def _ends(self) -> Asking[None]:
        """Run the bad commit, which should fail, and the good one, which should not."""
        n = self.track.search.n
        known = self.case.levels is not None
        turns = _METRIC_ENDS if self.case.metric and not known else 1
        for number in range(turns):
            yield from self.track.ask("ends", [n, 0] if number % 2 == 0 else [0, n])
        for place, option in ((n, "--bad"), (0, "--good")):
            tries = 0
            while place not in self.track.search.unbuildable and not self._seen(place):
                tries += 1
                yield from self.track.ask("ends", [place])
            if place in self.track.search.unbuildable:
                sha = short(self.case.at(place).sha)
                msg = f"{option} {sha} cannot be built or run, so nothing can be compared with it"
                hint = "look at the output of that run; give another commit, or repair the command"
                raise InfrastructureError(msg, hint=hint)

    def _turned(self, track: OutcomeTrack) -> Asking[bool]:
        """Whether an end of the range is not any more what it was seen to be.

        Then no commit is to be found between them. Runs that contradict what was seen are
        repeated until they tell by themselves.
        """
        n = track.search.n
        for place in (0, n):
            seen, now = self.case.seen.get(self.case.at(place).sha, Seen()), track.made(place)
            turned = now.failed and seen.passed if place == 0 else now.passed and seen.failed
            if not turned:
                continue
            single = OutcomeTrack(Search((1.0,), track.search.rates), self._same(place))
            single.search.failed[1], single.search.passed[1] = now.failed, now.passed
            verdict = yield from _settle(single, 1, track, "ends", self.case.at_once)
            track.search.failed[place] += single.search.failed[1] - now.failed
            track.search.passed[place] += single.search.passed[1] - now.passed
            if verdict == ("broken" if place == 0 else "fine"):
                self._say_turned("before" if place == 0 else "nobody", place)
                return True
        return False

    def _same(self, place: int) -> Callable[[int], str]:
        return lambda _place: self.case.at(place).sha

    def _say_turned(self, ending: Literal["before", "nobody"], place: int) -> None:
        told = self.conclusion
        told.ending, told.first, told.last, told.probability = ending, place, place, CERTAIN
        was, now = ("passed", "fails") if ending == "before" else ("failed", "passes")
        told.reasons.append(
            f"{short(self.case.at(place).sha)} {was} before and {now} now: no commit changed that"
        )

    def _seen(self, place: int) -> bool:
        if isinstance(self.track, OutcomeTrack):
            runs = self.track.made(place)
            return runs.failed + runs.passed > 0
        return not isinstance(self.track, MetricTrack) or bool(self.track.search.values[place])

    def _conclude(self, standing: Standing, proof: Proof) -> None:
        told = self.conclusion
        told.first, told.last = standing.first, standing.last
        told.probability, told.proof = standing.probability, proof
        if standing.probability < SUSPECT:
            told.ending = None
            return
        told.ending = standing.ending
        match standing.ending:
            case "culprit" if proof == "verified":
                told.found.append(self._found(standing, proof))
            case "culprit":
                told.ending = None
                told.reasons.append(f"the runs of the suspect and its parent leave it {proof}")
            case "range":
                told.reasons.append("no commit between these can be built and run")
            case "nobody":
                told.reasons.append("the bad commit passes as often as a flaky test would")
            case "before":
                told.reasons.append("the good commit fails as well: no commit of the range did it")

    def _found(self, standing: Standing, proof: Proof, offset: int = 0) -> Found:
        return Found(place=standing.first + offset, probability=standing.probability, proof=proof)

    def _alone(self, track: OutcomeTrack, found: Found) -> Asking[None]:
        """Run the bad commit without the culprit; where it still fails, look for another one."""
        n = track.search.n
        if found.place == n:
            self._amend(alone=True)
            return
        make = self.case.without
        if make is None:
            return
        head, culprit = self.case.at(n).sha, self.case.at(found.place).sha
        sha = make(head, culprit)
        if sha is None:
            self.conclusion.reasons.append("its revert does not apply to the bad commit")
            return
        single = OutcomeTrack(Search((1.0,), track.search.rates), lambda _place: sha)
        verdict = yield from _settle(single, 1, track, "alone", self.case.at_once)
        if verdict is None:
            self.conclusion.reasons.append("whether its revert alone helps was not decided")
            return
        self._amend(alone=verdict == "fine")
        if verdict == "broken":
            self.conclusion.reasons.append(
                "with it taken back the bad commit still fails: something else is broken too"
            )
            yield from self._second(track, found, make, single)

    def _amend(self, *, alone: bool) -> None:
        old = self.conclusion.found[0]
        self.conclusion.found[0] = Found(
            place=old.place, probability=old.probability, proof=old.proof, alone=alone
        )

    def _second(
        self, track: OutcomeTrack, found: Found, make: Without, single: OutcomeTrack
    ) -> Asking[None]:
        """Look for another culprit after the first.

        Where a commit in between passes, the first was repaired there, and the failure came back
        later. Else every commit is run with the first culprit taken back.
        """
        n, start = track.search.n, found.place
        inner = sorted({start + round(share * (n - start)) for share in _SWEEP} - {start, n})
        for place in inner:
            if place in track.search.unbuildable:
                continue
            yield from track.ask("sweep", [place])
            if track.search.passed[place]:
                verdict = yield from _settle(track, place, track, "sweep", self.case.at_once)
                if verdict == "fine":
                    self.conclusion.reasons.append(
                        f"{short(self.case.at(place).sha)} passes: it was repaired in between,"
                        " and broke again"
                    )
                    yield from self._seek_part(track, place, n)
                    return
        bottom = track.search.parent(start)

        def sha_at(place: int) -> str | None:
            if place == 0:
                return self.case.at(bottom or 0).sha
            return make(self.case.at(start + place).sha, self.case.at(start).sha)

        other = OutcomeTrack(Search((1.0,) * (n - start), track.search.rates), sha_at)
        other.search.failed[n - start] = single.search.failed[1]
        other.search.passed[n - start] = single.search.passed[1]
        standing, proof = yield from _seek(other, self.case.at_once, "second")
        if standing.ending == "culprit" and proof == "verified":
            yield from self._both(track, make, single, start, standing, proof)
        else:
            self._add(standing, proof, start)

    def _both(
        self,
        track: OutcomeTrack,
        make: Without,
        single: OutcomeTrack,
        start: int,
        standing: Standing,
        proof: Proof,
    ) -> Asking[None]:
        """Name a second culprit only where taking back both repairs the bad commit.

        A change that cannot be undone by itself (generated files, a changed format) would else
        make whatever came next look guilty.
        """
        second = self.case.at(start + standing.first).sha
        without_first = single.sha_at(1)
        sha = make(without_first, second) if without_first is not None else None
        verdict = None
        if sha is not None:
            pair = OutcomeTrack(Search((1.0,), track.search.rates), lambda _place: sha)
            verdict = yield from _settle(pair, 1, track, "second", self.case.at_once)
        if verdict == "fine":
            self._add(standing, proof, start)
            return
        told = "does not apply" if sha is None else "does not repair the bad commit"
        self.conclusion.reasons.append(
            f"{short(second)} may have broken it too, but taking back both {told}"
        )

    def _after_repair(self, track: OutcomeTrack, twice: BrokenTwice) -> Asking[None]:
        """Search both breaks of a history that was repaired in between; today's comes first."""
        search = track.search
        fine = max(range(twice.repair, twice.second), key=lambda place: search.passed[place])
        broken = max(range(twice.first, twice.repair), key=lambda place: search.failed[place])
        told = self.conclusion
        told.reasons.append(
            f"{short(self.case.at(broken).sha)} fails, {short(self.case.at(fine).sha)} passes and "
            "the bad commit fails: it was repaired in between, and broke again"
        )
        yield from self._seek_part(track, fine, search.n)
        yield from self._seek_part(track, 0, broken)

    def _seek_part(self, track: OutcomeTrack, start: int, end: int) -> Asking[None]:
        """Search a part of the range, with the runs that were made there."""
        rates = track.search.rates
        part = Search(self.case.prior[start:end], rates, nobody=0.02, before=0.02)
        part.failed[:] = track.search.failed[start : end + 1]
        part.passed[:] = track.search.passed[start : end + 1]
        part.unbuildable |= {p - start for p in track.search.unbuildable if start <= p <= end}
        inner = OutcomeTrack(
            part,
            lambda place: self.case.at(start + place).sha,
            unproving=track.unproving(start, end),
        )
        standing, proof = yield from _seek(inner, self.case.at_once, "second")
        self._add(standing, proof, start)

    def _add(self, standing: Standing, proof: Proof, offset: int) -> None:
        told = self.conclusion
        if standing.ending == "culprit" and proof == "verified":
            found = self._found(standing, proof, offset)
            told.found.append(found)
            if told.ending is None:
                told.ending, told.probability, told.proof = "culprit", found.probability, proof
                told.first = told.last = found.place
        else:
            first, last = self.case.at(standing.first + offset), standing.last + offset
            until = self.case.at(min(last, len(self.case.commits))).sha
            told.reasons.append(
                f"another one is likeliest in {short(first.sha)}..{short(until)}, not proven"
            )


def _seek(track: Track, at_once: int, stage: Stage) -> Asking[tuple[Standing, Proof]]:
    """Search until an answer is proven, or cannot be."""
    refuted = 0
    while True:
        standing = track.search.standing()
        if standing.probability >= SUSPECT:
            if standing.ending in {"nobody", "before"}:
                return standing, "undecided"
            proof = yield from track.prove(standing.first, standing.last, at_once, _proof(stage))
            now = track.search.standing()
            same = (now.first, now.last) == (standing.first, standing.last)
            sure = same and now.probability >= CERTAIN
            if proof == "undecided" or (proof == "verified" and (sure or not _counts(track))):
                return now if same else standing, proof
            refuted += proof == "refuted"
            if refuted >= _MOST_REFUTED:
                return now, "undecided"
        if _twice(track) is not None:
            return standing, "undecided"
        places = track.search.next_probes(at_once)
        if not places:
            return standing, "undecided"
        yield from track.ask(stage, places)


def _proof(stage: Stage) -> Stage:
    return "proof" if stage == "search" else stage


def _counts(track: Track) -> bool:
    """Whether the search knows the runs of a proof as its own, and can become more certain."""
    return isinstance(track, OutcomeTrack)


def _twice(track: Track) -> BrokenTwice | None:
    """A history that broke twice, where that explains the runs much better."""
    if not isinstance(track, OutcomeTrack):
        return None
    found = broken_twice(track.search)
    return found if found is not None and found.probability >= _TWICE else None


def _settle(
    track: OutcomeTrack, place: int, rates_of: OutcomeTrack, stage: Stage, at_once: int
) -> Asking[Literal["broken", "fine"] | None]:
    """Run one commit until its runs prove what it is; None where they cannot."""
    for _ in range(_MOST_ALONE):
        verdict = settled(track.runs(place), rates_of.rates())
        if verdict is not None or place in track.search.unbuildable:
            return verdict
        yield from track.ask(stage, [place] * at_once)
    return None


def suspects(investigation: Investigation, level: float = 0.99) -> Sequence[tuple[int, float]]:
    """Places of the fewest commits that hold ``level`` of the belief, likeliest first."""
    search = investigation.track.search
    posterior = search.posterior()
    places = search.credible(level)
    return sorted(((p, float(posterior[p])) for p in places), key=lambda each: -each[1])
