"""Where a step is: the likeliest first point of the new level, and the points that hold it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from gauntlet.analyzer.changepoints.scan import Array, gains
from gauntlet.analyzer.changepoints.scores import scores_around

# The place that is reported is the middle of the five points that hold it most probably: a wrong
# commit two places off costs a bisect of five, not of sixty.
_WIDTH = 2
_SURE = 0.95


@dataclass(frozen=True, slots=True)
class Place:
    """A new level from point ``index`` on; with 95 % it begins within ``first`` … ``last``."""

    index: int
    first: int
    last: int


def stretches(places: Sequence[int], count: int) -> Iterator[tuple[int, int, int]]:
    """(begin, place, end) of each place with both levels beside it."""
    for (begin, place), (_, end) in pairwise(pairwise([0, *places, count])):
        yield begin, place, end


def weights_of(gains_: Array) -> Array:
    """How probable each split is, given that there is one."""
    raw = np.exp(gains_ - gains_.max())
    weights: Array = raw / raw.sum()
    return weights


def likeliest(weights: Array) -> int:
    """Index of the first point of the new level."""
    near = np.convolve(weights, np.ones(2 * _WIDTH + 1), "same")
    return int((near + 1e-6 * weights).argmax()) + 1


def placed(values: Array, places: Sequence[int]) -> list[Place]:
    """Place each step anew between its neighbours."""
    found: list[Place] = []
    for left, place, end in stretches(places, len(values)):
        begin = found[-1].index if found else left
        scores = scores_around(values[begin:end], [place - begin])
        weights = weights_of(gains(scores[None])[0])
        index = begin + likeliest(weights)
        order = np.argsort(weights)[::-1]
        enough = int(np.searchsorted(np.cumsum(weights[order]), _SURE)) + 1
        inside = order[:enough] + begin + 1
        found.append(Place(index, min(int(inside.min()), index), max(int(inside.max()), index)))
    return found
