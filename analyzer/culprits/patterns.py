"""Histories that broke twice: evidence that no single culprit explains."""

from dataclasses import dataclass
from math import comb

import numpy as np

from gauntlet.analyzer.culprits.posterior import Values
from gauntlet.analyzer.culprits.search import Search

# How likely a history that broke, was repaired and broke again is before any run.
_PRIOR = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenTwice:
    """Fine, broken since ``first``, fine again since ``repair``, broken again since ``second``.

    The three are the likeliest places; ``probability`` is that of any such history.
    """

    first: int
    repair: int
    second: int
    probability: float


def broken_twice(search: Search) -> BrokenTwice | None:
    """How likely the range broke, was repaired and broke again; None for fewer than 3 commits.

    Adds up all such histories (forward over four states), each as likely as any other.
    """
    if search.n < 3:
        return None
    fine, broken = search.log_likelihoods()
    states = np.stack([fine, broken, fine, broken])
    sums = _forward(states, np.logaddexp)
    once = float(np.logaddexp.reduce(search.log_joint(), axis=None))
    twice = float(np.logaddexp.reduce(sums + search.log_weights)) - np.log(comb(search.n, 3))
    odds = np.exp(min(50.0, twice + np.log(_PRIOR) - once - np.log1p(-_PRIOR)))
    rates = int(np.argmax(sums + search.log_weights))
    first, repair, second = _likeliest(states[:, :, rates])
    return BrokenTwice(
        first=first, repair=repair, second=second, probability=float(odds / (1 + odds))
    )


def _forward(states: Values, add: np.ufunc) -> Values:
    """Combine the paths that start in the first state at commit 0 and end in the last at n."""
    count, length, rates = states.shape
    reached = np.full((count, rates), -np.inf)
    reached[0] = states[0, 0]
    for place in range(1, length):
        entered = np.concatenate([np.full((1, rates), -np.inf), reached[:-1]])
        reached = add(reached, entered) + states[:, place]
    return np.asarray(reached[-1])


def _likeliest(states: Values) -> tuple[int, int, int]:
    """Commits at which the likeliest path changes its state."""
    count, length = states.shape
    reached = np.full(count, -np.inf)
    reached[0] = states[0, 0]
    came_in = np.zeros((length, count), dtype=bool)
    for place in range(1, length):
        entered = np.concatenate([[-np.inf], reached[:-1]])
        came_in[place] = entered > reached
        reached = np.maximum(reached, entered) + states[:, place]
    state, found = count - 1, []
    for place in range(length - 1, 0, -1):
        if came_in[place, state]:
            found.append(place)
            state -= 1
    first, repair, second = reversed(found)
    return first, repair, second
