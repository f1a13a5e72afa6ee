"""Is it a step or a ramp? A ramp has no commit to blame."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from gauntlet.analyzer.changepoints.scan import Array, Places

_SHORTEST_RAMP = 16
"""Points that a ramp rises over at least; anything quicker is a step with a point on its way."""

_GRID = 30
# What a model pays in log likelihood per log(points): a place that was searched for costs more
# than a level (Zhang and Siegmund 2007, Biometrics 63, for steps in place of the usual half). Here
# more again, so that in doubt a single step stays one: somebody should look at a commit then. At
# 1.75, ramps of five sigma over forty points are drifts in 93 of 100, and 1 step in 600 is lost.
_PLACE, _LEVEL = 1.75, 0.5


class Ramp(NamedTuple):
    """A drift from the level before point ``begin`` to the level from point ``end`` on."""

    begin: int
    end: int


def ramp_instead(scores: Array, steps: Sequence[int]) -> Ramp | None:
    """The ramp that explains a stretch better than ``steps`` do; None where the steps are better.

    Both are fitted to ``scores`` by least squares and compared by a Bayesian information criterion.
    """
    count = len(scores)
    if count < _SHORTEST_RAMP + 4 or not steps:
        return None
    ramps, begins, ends = _ramps(count)
    centred = scores - scores.mean()
    whole = float(centred @ centred)
    explained = (ramps @ centred) ** 2
    best = int(explained.argmax())
    residuals = centred - ramps[best] * float(ramps[best] @ centred)
    left = whole - float(explained[best])
    bounds = [0, *steps, count]
    parts = [scores[a:b] for a, b in pairwise(bounds)]
    stairs = sum(float(((part - part.mean()) ** 2).sum()) for part in parts)
    floor = 1e-9 * count
    # Noise with a memory wanders like a ramp; points that repeat each other count once.
    memory = float(residuals[1:] @ residuals[:-1]) / max(left, floor)
    memory = min(max(memory, 0.0), 0.8)
    worth = count * (1 - memory) / (1 + memory)
    gain = worth / 2 * np.log(max(stairs, floor) / max(left, floor))
    price = (2 * _PLACE + _LEVEL) - len(steps) * (_PLACE + _LEVEL)
    if gain <= price * np.log(count):
        return None
    return Ramp(int(begins[best]), int(ends[best]))


@lru_cache(maxsize=16)
def _ramps(count: int) -> tuple[Array, Places, Places]:
    """Unit regressors of ramps on a grid of beginnings and ends, (ramps, count)."""
    hop = max(1, count // _GRID)
    places = np.arange(0, count + hop, hop)
    begin, end = (side.ravel() for side in np.meshgrid(places, places, indexing="ij"))
    keep = (end - begin >= max(_SHORTEST_RAMP, hop)) & (end <= count + hop)
    begin, end = begin[keep], np.minimum(end[keep], count)
    points = np.arange(count)[None, :]
    ramps = np.clip((points - begin[:, None]) / (end - begin)[:, None], 0.0, 1.0)
    ramps -= ramps.mean(axis=1, keepdims=True)
    norms = np.sqrt((ramps**2).sum(axis=1, keepdims=True))
    return ramps / norms, begin, end
