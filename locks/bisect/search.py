"""Bisect over packages: which upgrades make a test fail, keeping the others. Pure.

A mix is the set of packages that are at their new version; all others are at their old one. The
search asks two things of whoever calls it: which mix that a resolver accepts is next to a wanted
one, and whether a mix passes. Only the second costs an installation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, log2
from typing import Literal, Protocol

Mix = frozenset[str]
Outcome = Literal["good", "bad", "skip"]
State = Literal["proved", "not-reproduced", "old-is-bad", "red-remains", "cannot-tell"]


class Prober(Protocol):
    """What the search asks."""

    def settle(self, new: Mix, old: Mix, *, prefer_new: bool) -> Mix | None:
        """The mix with ``new`` new and ``old`` old that moves as few others as it can.

        The others are old, or new with ``prefer_new``. None where no resolution exists.
        """

    def test(self, mix: Mix) -> Outcome:
        """Install a mix and run the test."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Culprit:
    """Upgrades that cannot be told apart further, and the two mixes that show what they do.

    ``bad`` is ``good`` with the culprit's upgrades. Either may rest on what the caller said (the
    old lock passes, the new one fails).
    """

    upgrades: tuple[str, ...]
    good: Mix
    bad: Mix


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """How a search ended. ``kept`` is the mix that passed, where ``state`` is ``proved``."""

    state: State
    culprits: tuple[Culprit, ...] = ()
    kept: Mix = frozenset()
    reason: str = ""


class _OutOfInstallsError(Exception):
    """Another installation is one too many."""


@dataclass(kw_only=True)
class Search:
    """One search. ``weights`` has the upgrades, the likeliest culprit first."""

    weights: Mapping[str, float]
    prober: Prober
    max_installs: int = 12
    prove_ends: bool = False
    _known: dict[Mix, Outcome] = field(default_factory=dict)
    _red_without: bool = False

    def run(self) -> Found:
        """Search until green without the culprits is seen, or it cannot be."""
        culprits: list[Culprit] = []
        try:
            return self._run(culprits)
        except _OutOfInstallsError:
            reason = f"{self.max_installs} installations were not enough"
            state: State = "red-remains" if self._red_without else "cannot-tell"
            return Found(state=state, culprits=tuple(culprits), reason=reason)

    def _run(self, culprits: list[Culprit]) -> Found:
        everything = frozenset(self.weights)
        if self.prove_ends and (ended := self._ends(everything)):
            return ended
        good, bad = Mix(), everything
        while True:
            culprit = self._narrow(good, bad)
            if "bad" not in self._known.values() and (ended := self._no_red(everything)):
                return ended
            culprits.append(culprit)
            held = Mix(name for each in culprits for name in each.upgrades)
            kept = self.prober.settle(Mix(), held, prefer_new=True)
            if kept is None:
                reason = "nothing resolves with the culprit held back"
                return Found(state="cannot-tell", culprits=tuple(culprits), reason=reason)
            outcome = self._test(kept)
            if outcome != "bad":
                return _judged(outcome, culprits, kept)
            self._red_without = True
            if "good" not in self._known.values() and self._test(Mix()) == "bad":
                return Found(state="old-is-bad", reason="the test fails with the old lock too")
            good, bad = culprit.good & kept, kept
            if self._known.get(good) == "bad" or good == bad:
                reason = "the test fails with and without the same upgrades: it is not steady"
                return Found(state="cannot-tell", culprits=tuple(culprits), reason=reason)

    def _no_red(self, everything: Mix) -> Found | None:
        """What is left to say where no probe was bad: None where the new lock itself is."""
        outcome = self._test(everything)
        if outcome == "skip":
            reason = "no probe failed, and the new lock itself could not be judged"
            return Found(state="cannot-tell", reason=reason)
        if outcome == "good":
            return Found(state="not-reproduced", reason="the test passes with every upgrade")
        return None

    def _ends(self, everything: Mix) -> Found | None:
        """Whether the two locks themselves are as they were said to be."""
        old = self._test(Mix())
        if old == "bad":
            return Found(state="old-is-bad", reason="the test fails with the old lock too")
        new = self._test(everything)
        if new == "good":
            return Found(state="not-reproduced", reason="the test passes with every upgrade")
        if "skip" in (old, new):
            return Found(state="cannot-tell", reason="one of the two locks could not be judged")
        return None

    def _test(self, mix: Mix) -> Outcome:
        if mix not in self._known:
            if len(self._known) >= self.max_installs:
                raise _OutOfInstallsError
            self._known[mix] = self.prober.test(mix)
        return self._known[mix]

    def _narrow(self, good: Mix, bad: Mix) -> Culprit:
        """Halve what lies between a mix that passes and one that fails, until nothing is between.

        With upgrades that can move alone it takes ``ceil(log2 n)`` tests at most.
        """
        depth = _depth(len(bad - good))
        skipped: set[Mix] = set()
        while (mix := self._between(good, bad, depth, skipped)) is not None:
            outcome = self._test(mix)
            if outcome == "skip":
                skipped.add(mix)
                continue
            good, bad = (mix, bad) if outcome == "good" else (good, mix)
            depth -= 1
        upgrades = tuple(name for name in self.weights if name in bad - good)
        return Culprit(upgrades=upgrades, good=good, bad=bad)

    def _between(self, good: Mix, bad: Mix, depth: int, skipped: set[Mix]) -> Mix | None:
        """The best mix to test: the likelier half first, never so that the depth is overrun."""
        suspects = [name for name in self.weights if name in bad - good]
        heads = [Mix(suspects[:size]) for size in self._sizes(suspects, depth)]
        # Where no head of the list stands alone, a single upgrade may.
        for chosen in (*heads, *(Mix([name]) for name in suspects[1:])):
            old = Mix(self.weights) - bad
            mix = self.prober.settle(good | chosen, old, prefer_new=False)
            if mix is not None and good < mix < bad and mix not in skipped:
                return mix
        return None

    def _sizes(self, suspects: Sequence[str], depth: int) -> list[int]:
        """Sizes of the first half: those that keep the depth first, then by balance of weight."""
        total = sum(self.weights[name] for name in suspects)
        room = 2 ** max(depth - 1, 0)
        balance: dict[int, tuple[bool, float]] = {}
        weight = 0.0
        for size in range(1, len(suspects)):
            weight += self.weights[suspects[size - 1]]
            too_deep = max(size, len(suspects) - size) > room
            balance[size] = (too_deep, abs(total / 2 - weight))
        return sorted(balance, key=balance.__getitem__)


def _judged(outcome: Outcome, culprits: Sequence[Culprit], kept: Mix) -> Found:
    if outcome == "good":
        return Found(state="proved", culprits=tuple(culprits), kept=kept)
    reason = "whether the rest passes without the culprit could not be judged"
    return Found(state="cannot-tell", culprits=tuple(culprits), reason=reason)


def _depth(count: int) -> int:
    return ceil(log2(count)) if count > 1 else 0
