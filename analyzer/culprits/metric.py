"""Where did a number change? The same search with normal likelihoods, and no threshold.

Values are logarithms, so a step is a ratio. Level before, level after and noise are not known
exactly: each hypothesis is weighed with all of them integrated out (normal levels with an
inverse-gamma variance, the conjugate model), given what the series said of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gauntlet.analyzer.comparison.effects import PairKey, Turns, interleaved_effect
from gauntlet.analyzer.culprits.posterior import (
    Posterior,
    Values,
    from_here,
    log_prior,
    normalized,
)

Proof = Literal["verified", "refuted", "undecided"]

PROOF_BLOCKS = 16
_PROOF_LEVEL = 1e-3
# One more commit that was run as often as another is as good: take turns.
_TURN = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """What a series says of a step: logs of the levels, and the noise of one run.

    ``sd`` is that of a log value (0.02: 2 %), ``seen`` how many values each level was taken from
    (less than 1: hardly known), ``df`` the degrees of freedom behind ``sd``.
    """

    before: float
    after: float
    sd: float = 0.02
    seen: float = 10.0
    df: float = 8.0


class MetricSearch(Posterior):
    """The state of a search for a step; ``record`` takes logarithms."""

    def __init__(
        self,
        prior: Sequence[float],
        levels: Levels | None = None,
        *,
        nobody: float = 0.1,
        before: float = 0.02,
    ) -> None:
        """Start with no run; without ``levels`` they are learnt from the runs alone."""
        super().__init__(len(prior))
        self.levels = levels
        self.values: list[list[float]] = [[] for _ in range(self.n + 1)]
        self._log_prior = log_prior(prior, nobody=nobody, before=before)

    def record(self, index: int, value: float, reference: float = 0.0) -> None:
        """Take note of a log value at a commit, less that of a reference run beside it."""
        self.values[index].append(value - reference)

    def posterior(self) -> Values:
        """Probability of every hypothesis, 0 … n + 1."""
        counts = np.array([len(each) for each in self.values], dtype=np.float64)
        if not counts.sum():
            return normalized(self._log_prior)
        levels = self.levels or self._unknown()
        sums = np.array([sum(each) for each in self.values])
        squares = np.array([sum(value**2 for value in each) for each in self.values])
        nothing = np.zeros(1)
        seen = (counts, sums, squares)
        old = np.stack([np.concatenate([nothing, np.cumsum(each)]) for each in seen])
        new = np.stack([np.concatenate([from_here(each), nothing]) for each in seen])
        rest_old, log_old = _fit(old, levels.before, levels.seen)
        rest_new, log_new = _fit(new, levels.after, levels.seen)
        shape = (levels.df + counts.sum()) / 2
        rest = levels.df * levels.sd**2 + rest_old + rest_new
        return normalized(self._log_prior + log_old + log_new - shape * np.log(rest))

    def _unknown(self) -> Levels:
        """Levels of which nothing is known but where the values lie."""
        every = [value for each in self.values for value in each]
        centre = float(np.mean(every))
        return Levels(before=centre, after=centre, seen=0.05, df=2.0)

    def next_probes(self, count: int = 1) -> list[int]:
        """Choose where to run next: the even shares of what is believed; a commit may come twice.

        A value tells most where the commit is as likely before the step as after it.
        """
        places = np.array(self.testable)
        if not len(places):
            return []
        reached = np.cumsum(self.posterior())[places]
        runs = np.array([float(len(self.values[place])) for place in places])
        chosen = []
        for share in np.arange(1, count + 1) / (count + 1):
            best = int(np.argmin(np.abs(reached - share) + _TURN * runs))
            runs[best] += 1
            chosen.append(int(places[best]))
        return chosen

    def step(self, culprit: int) -> float:
        """Mean log value from ``culprit`` on, less the mean before it; 0 where a side is empty."""
        old = [value for each in self.values[:culprit] for value in each]
        new = [value for each in self.values[culprit:] for value in each]
        return float(np.mean(new) - np.mean(old)) if old and new else 0.0


def _fit(sums: Values, mean: float, seen: float) -> tuple[Values, Values]:
    """Squares that a level of unknown mean leaves, and the log factor of that mean.

    ``sums`` holds counts, sums and sums of squares of each hypothesis.
    """
    count, total, squares = sums
    weight = seen + count
    centre = (seen * mean + total) / weight
    rest = squares + seen * mean**2 - weight * centre**2
    return np.maximum(rest, 0.0), 0.5 * (np.log(seen) - np.log(weight))


def judge_step(turns: Sequence[tuple[float, float]], expected: float) -> Proof:
    """Judge interleaved runs (log of parent, log of culprit), A B B A, against an expected step.

    Verified: a change in the direction of ``expected`` whose p-value is below one in a thousand,
    for all looks together. Refuted: as sure that it is less than half of it.
    """
    if len(turns) < 2:
        return "undecided"
    pairs = {PairKey("proof", number): Turns(old, new) for number, (old, new) in enumerate(turns)}
    effect = interleaved_effect(pairs)
    level = _PROOF_LEVEL / PROOF_BLOCKS
    sign = 1.0 if expected >= 0 else -1.0
    if effect.p_value(sign) < level:
        return "verified"
    if sign * effect.log_ratio + effect.reach(level) < abs(expected) / 2:
        return "refuted"
    return "undecided"
