"""A verdict at any time: bets on paired answers whose winnings are evidence (e-processes).

Questions are asked in one random order; each gives a difference ``d`` in [-1, 1], positive where
the candidate lost. Two gamblers start with 1 each and never bet more than they have:

* against "no drop" (the mean of ``d`` is at most 0): the capital is multiplied by ``1 + s d`` with
  a fixed ``0 < s < 1``. Its expectation under the hypothesis is ``1 + s E[d] <= 1``. For answers
  that are right or wrong this is the likelihood ratio of "a differing answer is a loss with
  probability (1 + s) / 2" against a fair coin: equal answers neither win nor lose.
* against "the drop is at least m" (the mean of ``d`` is at least m): the capital is multiplied by
  ``1 - s (d - m)``, not below 0 while ``s <= 1 / (1 - m)``, with the expectation
  ``1 - s (E[d] - m) <= 1``. Equal answers win here, since a margin is a share of all questions.

A mixture over several ``s`` is a nonnegative supermartingale too, so by Ville's inequality the
chance that it *ever* reaches 1/a is at most a (Ville 1939; Waudby-Smith and Ramdas, JRSS B 86,
2024). Looking after each answer costs nothing.

Ville's bound is not used up: on right and wrong answers the winnings are those of coin flips, of
which the chance to reach 1/a within D flips is computed exactly, by recursion over paths. The last
look spends the rest: it rejects where the number of losses is among those that, together with
having reached 1/a before, a fair coin gives with probability at most a. Conditional on D this is
exact, so it holds altogether; where losses are rarer than a fair coin's, both become rarer.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import stats

from gauntlet.analyzer.stats import paired_share

# What losses are bet to outnumber gains by: shares 0.6 to 0.9 of the differing answers.
_LOSS_STAKES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.8)
# Small stakes suit builds with many flips, large ones those whose answers hardly change.
_SAFE_STAKES = (0.3, 0.5, 0.8)
# Share of the level that looks before the last may spend on "same"; the last has the rest.
EARLY_SAME = 0.6

Decision = Literal["worse", "same", "open"]
Floats = npt.NDArray[np.float64]
ItemT = TypeVar("ItemT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What is known after ``items`` questions.

    ``drop`` is the mean difference. ``evidence_of_loss`` and ``evidence_of_none`` are the capitals
    of the two gamblers (highest so far); 20 is what a level of 5 % asks for.
    """

    decision: Decision
    items: int
    losses: int
    gains: int
    drop: float
    evidence_of_loss: float
    evidence_of_none: float


class Sequential:
    """Judge answers one at a time; keeps a dozen numbers, however many come.

    ``margin`` is a share of all questions (0.02: two points), ``alpha`` the level of either claim.
    The first decision stands.
    """

    def __init__(self, *, margin: float, alpha: float = 0.05) -> None:
        if not 0 < margin < 1 or not 0 < alpha < 0.5:
            msg = f"margin {margin} and alpha {alpha}: shares above 0, below 1 and 0.5"
            raise ValueError(msg)
        self._margin = margin
        self._alpha = alpha
        self._loss = [0.0] * len(_LOSS_STAKES)
        self._safe = [0.0] * len(_SAFE_STAKES)
        self._best_loss = self._best_safe = 0.0
        self._items = self._losses = self._gains = 0
        self._sum = self._squares = 0.0
        self._decision: Decision = "open"

    def add(self, difference: float) -> Look:
        """Take the next answer's difference (baseline's score minus candidate's).

        Raises ValueError outside [-1, 1].
        """
        if not -1 <= difference <= 1:
            msg = f"a difference of scores is between -1 and 1, not {difference}"
            raise ValueError(msg)
        self._items += 1
        self._losses += difference > 0
        self._gains += difference < 0
        self._sum += difference
        self._squares += difference * difference
        if difference:
            for index, stake in enumerate(_LOSS_STAKES):
                self._loss[index] += math.log1p(stake * difference)
            self._best_loss = max(self._best_loss, _mixed(self._loss))
        for index, stake in enumerate(_SAFE_STAKES):
            self._safe[index] += math.log1p(-stake * (difference - self._margin))
        self._best_safe = max(self._best_safe, _mixed(self._safe))
        if self._decision == "open":
            self._decision = self._decide(
                loss=self._best_loss >= -math.log(self._alpha),
                none=self._best_safe >= -math.log(EARLY_SAME * self._alpha),
            )
        return self.look

    @property
    def look(self) -> Look:
        """What is known by now."""
        return Look(
            decision=self._decision,
            items=self._items,
            losses=self._losses,
            gains=self._gains,
            drop=self._sum / self._items if self._items else 0.0,
            evidence_of_loss=math.exp(min(self._best_loss, 700.0)),
            evidence_of_none=math.exp(min(self._best_safe, 700.0)),
        )

    def finish(self) -> Look:
        """Take the last look, once all questions were asked; spends what is left of the level."""
        if self._decision == "open" and self._items:
            self._decision = self._decide(loss=self._lost_at_last(), none=self._none_at_last())
        return self.look

    def _decide(self, *, loss: bool, none: bool) -> Decision:
        if none:
            return "same"
        proven = loss and self._sum / self._items >= self._margin / 2
        return "worse" if proven else "open"

    @property
    def _binary(self) -> bool:
        return self._squares == self._losses + self._gains

    def _lost_at_last(self) -> bool:
        if self._best_loss >= -math.log(self._alpha):
            return True
        if not self._binary:
            return False
        return last_look_p(self._losses, self._losses + self._gains, self._alpha) <= self._alpha

    def _none_at_last(self) -> bool:
        rest = (1 - EARLY_SAME) * self._alpha
        if self._binary:
            return paired_share(self._losses, self._gains, self._items, rest).upper < self._margin
        mean = self._sum / self._items
        spread = self._squares - self._items * mean * mean
        if self._items < 2 or spread <= 0:
            return False
        error = math.sqrt(spread / (self._items - 1) / self._items)
        return mean + float(stats.t.ppf(1 - rest, self._items - 1)) * error < self._margin


def in_random_order(items: Sequence[ItemT], seed: int) -> list[ItemT]:
    """Put questions in the one random order in which they are to be asked."""
    order = list(items)
    random.Random(seed).shuffle(order)  # noqa: S311 - an order, not a secret
    return order


def evidence_paths(differences: npt.ArrayLike, margin: float) -> tuple[Floats, Floats]:
    """Logarithms of both capitals after each answer: against "no drop", against "drop >= m".

    What ``Sequential`` adds up, for a whole array at once.
    """
    d = np.asarray(differences, dtype=float)
    paths = []
    for stakes, gains in ((_LOSS_STAKES, d), (_SAFE_STAKES, margin - d)):
        each = np.cumsum(np.log1p(np.outer(stakes, gains)), axis=1)
        paths.append(np.logaddexp.reduce(each, axis=0) - math.log(len(stakes)))
    return paths[0], paths[1]


def last_look_p(losses: int, differing: int, alpha: float) -> float:
    """Chance on an unchanged build to have won 1/alpha by now, or to end with so many losses."""
    ever, left = _coin_paths(differing, alpha)
    return float(ever + left[losses:].sum())


@lru_cache(maxsize=64)
def _coin_paths(differing: int, alpha: float) -> tuple[float, Floats]:
    """Of a fair coin's paths: the share that ever won 1/alpha, the others by their losses."""
    left = np.zeros(differing + 1)
    left[0] = 1.0
    ever = 0.0
    for flips in range(1, differing + 1):
        moved = left / 2
        moved[1:] += left[:-1] / 2
        won = _fewest_losses_to_win(flips, alpha)
        ever += float(moved[won:].sum())
        moved[won:] = 0.0
        left = moved
    return ever, left


@lru_cache(maxsize=65536)
def _fewest_losses_to_win(flips: int, alpha: float) -> int:
    """With how many losses of so many flips the capital has reached 1/alpha."""
    # More losses are always more capital, so that the first number that suffices is searched.
    low, high = 0, flips + 1
    while low < high:
        middle = (low + high) // 2
        logs = [middle * math.log1p(s) + (flips - middle) * math.log1p(-s) for s in _LOSS_STAKES]
        if _mixed(logs) >= -math.log(alpha):
            high = middle
        else:
            low = middle + 1
    return low


def _mixed(logs: Sequence[float]) -> float:
    """Logarithm of the mean of what was logged."""
    top = max(logs)
    return top + math.log(sum(math.exp(each - top) for each in logs) / len(logs))
