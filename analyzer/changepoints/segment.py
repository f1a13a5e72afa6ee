"""Split a series into levels: find, confirm, place, and tell ramps from steps."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from gauntlet.analyzer.changepoints.bursts import bursts
from gauntlet.analyzer.changepoints.drift import Ramp, ramp_instead
from gauntlet.analyzer.changepoints.place import likeliest, placed, stretches, weights_of
from gauntlet.analyzer.changepoints.scan import Array, Places, gains
from gauntlet.analyzer.changepoints.scores import scores_around, scores_of
from gauntlet.analyzer.changepoints.thresholds import SHORTEST_SERIES, chance, limit
from gauntlet.analyzer.changepoints.windows import best_split


@dataclass(frozen=True, slots=True)
class Step:
    """A new level from point ``index`` on; with 95 % it begins within ``first`` … ``last``.

    ``p_value`` is the share of unchanged stretches whose best split is as good.
    """

    index: int
    first: int
    last: int
    p_value: float


@dataclass(frozen=True, slots=True)
class Segmentation:
    """Steps and drifts of one series, in order.

    ``memory`` is the lag-1 autocorrelation of the noise around them, from 0 to 0.8.
    """

    steps: tuple[Step, ...] = ()
    drifts: tuple[Ramp, ...] = ()
    memory: float = 0.0


def segment(values: Array) -> Segmentation:
    """Find every step and drift in finite ``values``."""
    found = _found(values)
    memory = memory_of(values, found)
    found = _confirmed(values, found, memory)
    where = placed(values, found)
    indices = [place.index for place in where]
    excesses = [_excess(values[a:b], memory) for a, _, b in stretches(indices, len(values))]
    steps = [
        Step(place.index, place.first, place.last, chance(excess))
        for place, excess in zip(where, excesses, strict=True)
    ]
    steps, drifts = _without_ramps(values, steps)
    return Segmentation(steps=tuple(steps), drifts=tuple(drifts), memory=memory)


def _found(values: Array) -> list[int]:
    """Split at the best place, and both parts again, while noise does not explain it.

    Parts of a split have half of the error each, so that false steps stay rare among the true.
    """
    found: list[int] = []
    pending = [(0, len(values))]
    while pending:
        begin, end = pending.pop()
        shared = float(np.log(2)) if found else 0.0
        if end - begin < SHORTEST_SERIES or np.ptp(values[begin:end]) == 0:
            continue
        split = best_split(*scores_of(values[begin:end]))
        if split.excess > limit(end - begin) + shared:
            place = begin + split.begin + likeliest(weights_of(split.gains))
            places = [place]
        else:
            places = [begin + edge for burst in bursts(values[begin:end]) for edge in burst]
        found += places
        if places:
            pending += list(pairwise([begin, *places, end]))
    return sorted(found)


def memory_of(values: Array, places: Sequence[int]) -> float:
    """How much a point's noise repeats the one before it: lag-1 autocorrelation around levels.

    Rounded to hundredths, from 0 to 0.8. Subtracting each level's mean hides some of it; what it
    hides is added back (Kendall 1954, Biometrika 41).
    """
    if len(values) == 0:
        return 0.0
    scores = scores_around(values, places)
    parts = np.split(scores, places)
    residuals = np.concatenate([part - part.mean() for part in parts])
    square = float(residuals @ residuals)
    if square == 0.0:
        return 0.0
    seen = float(residuals[1:] @ residuals[:-1]) / square
    hidden = (1 + 3 * seen) * len(parts) / len(values)
    return round(min(max(seen + hidden, 0.0), 0.8), 2)


def _confirmed(values: Array, places: list[int], memory: float) -> list[int]:
    """Drop steps that, between their neighbours, noise explains; the weakest first.

    Each is tested with the memory that the noise of the whole series has: a short stretch says
    little about its own.
    """
    while places:
        excesses = [_excess(values[a:b], memory) for a, _, b in stretches(places, len(values))]
        weakest = int(np.argmin(excesses))
        if excesses[weakest] > 0:
            return places
        del places[weakest]
    return places


def _excess(values: Array, memory: float) -> float:
    """Gain of the best split beyond the limit."""
    if len(values) < SHORTEST_SERIES:
        return -np.inf
    scores, lost = scores_of(values)
    return float(gains(scores[None], lost, memory).max()) - limit(len(values))


def _without_ramps(values: Array, found: list[Step]) -> tuple[list[Step], list[Ramp]]:
    """Replace runs of steps in one direction by a ramp where that explains them better."""
    steps: list[Step] = []
    ramps: list[Ramp] = []
    places = [step.index for step in found]
    bounds = [0, *places, len(values)]
    levels = [float(np.median(values[a:b])) for a, b in pairwise(bounds)] if places else []
    signs = np.sign(np.diff(levels))
    at = 0
    while at < len(places):
        until = at
        while until + 1 < len(places) and signs[until + 1] == signs[at]:
            until += 1
        begin, end = bounds[at], bounds[until + 2]
        inner = [place - begin for place in places[at : until + 1]]
        ramp = ramp_instead(scores_around(values[begin:end], inner), inner)
        if ramp is None:
            steps += found[at : until + 1]
        else:
            ramps.append(Ramp(ramp.begin + begin, ramp.end + begin))
        at = until + 1
    return steps, ramps


def finite(values: Sequence[float]) -> tuple[Array, Places]:
    """Values without the missing ones (NaN), and where each stood.

    Raises ValueError for infinite values: a measurement is a number or missing.
    """
    array = np.asarray(values, dtype=float)
    if array.ndim != 1:
        msg = f"a series has one dimension, not {array.ndim}"
        raise ValueError(msg)
    if np.isinf(array).any():
        msg = f"value {int(np.flatnonzero(np.isinf(array))[0])} is infinite"
        raise ValueError(msg)
    kept: Places = np.flatnonzero(~np.isnan(array))
    known: Array = array[kept]
    return known, kept
