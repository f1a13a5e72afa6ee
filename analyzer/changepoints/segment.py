"""Split a series into levels: find, place, confirm, and tell ramps from steps."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gauntlet.analyzer.changepoints.drift import Ramp, ramp_instead
from gauntlet.analyzer.changepoints.scan import Array, Places, gains
from gauntlet.analyzer.changepoints.scores import scores_around, scores_of
from gauntlet.analyzer.changepoints.thresholds import SHORTEST_SERIES, limit
from gauntlet.analyzer.changepoints.windows import best_split

# The place that is reported is the middle of the five points that hold it most probably: a wrong
# commit two places off costs a bisect of five, not of sixty.
_WIDTH = 2
_SURE = 0.95


@dataclass(frozen=True, slots=True)
class Step:
    """A new level from point ``index`` on; with 95 % it begins within ``first`` … ``last``."""

    index: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Segmentation:
    """Steps and drifts of one series, in order."""

    steps: tuple[Step, ...] = ()
    drifts: tuple[Ramp, ...] = ()


def segment(values: Array) -> Segmentation:
    """Find every step and drift in finite ``values``."""
    found: list[int] = []
    _split(values, 0, len(values), found)
    found = _confirmed(values, sorted(found))
    steps, drifts = _without_ramps(values, _placed(values, found))
    return Segmentation(steps=tuple(steps), drifts=tuple(drifts))


def _split(values: Array, begin: int, end: int, found: list[int]) -> None:
    """Split a stretch at its best place, and both parts again, while noise does not explain it."""
    pending = [(begin, end)]
    while pending:
        begin, end = pending.pop()
        if end - begin < SHORTEST_SERIES or np.ptp(values[begin:end]) == 0:
            continue
        split = best_split(*scores_of(values[begin:end]))
        if split.excess <= limit(end - begin):
            continue
        place = begin + split.begin + _likeliest(_weights(split.gains))
        found.append(place)
        pending += [(begin, place), (place, end)]


def _weights(gains_: Array) -> Array:
    """How probable each split is, given that there is one."""
    raw = np.exp(gains_ - gains_.max())
    weights: Array = raw / raw.sum()
    return weights


def _likeliest(weights: Array) -> int:
    """Index of the first point of the new level."""
    near = np.convolve(weights, np.ones(2 * _WIDTH + 1), "same")
    return int((near + 1e-6 * weights).argmax()) + 1


def _confirmed(values: Array, places: list[int]) -> list[int]:
    """Drop steps that, between their neighbours, noise explains; the weakest first.

    Each is tested with the memory that the noise of the whole series has: a short stretch says
    little about its own.
    """
    memory = _memory(values, places)
    while places:
        bounds = [0, *places, len(values)]
        excess = [_excess(values[a:b], memory) for a, b in zip(bounds, bounds[2:], strict=False)]
        weakest = int(np.argmin(excess))
        if excess[weakest] > 0:
            return places
        del places[weakest]
    return places


def _memory(values: Array, places: list[int]) -> float:
    """How much a point's noise repeats the one before it: lag-1 autocorrelation around levels.

    Rounded to hundredths. Subtracting each level's mean hides some of it; what it hides is added
    back (Kendall 1954, Biometrika 41).
    """
    scores = scores_around(values, places)
    parts = np.split(scores, places)
    residuals = np.concatenate([part - part.mean() for part in parts])
    square = float(residuals @ residuals)
    if square == 0.0:
        return 0.0
    seen = float(residuals[1:] @ residuals[:-1]) / square
    hidden = (1 + 3 * seen) * len(parts) / len(values)
    return round(min(max(seen + hidden, 0.0), 0.8), 2)


def _excess(values: Array, memory: float) -> float:
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
    levels = [float(np.median(values[a:b])) for a, b in zip(bounds, bounds[1:], strict=False)]
    signs = np.sign(np.diff(levels))
    at = 0
    while at < len(places):
        until = at
        while until + 1 < len(places) and signs[until + 1] == signs[at]:
            until += 1
        begin, end = bounds[at], bounds[until + 2]
        inside = places[at : until + 1]
        inner = [place - begin for place in inside]
        ramp = ramp_instead(scores_around(values[begin:end], inner), inner)
        if ramp is None:
            steps += found[at : until + 1]
        else:
            ramps.append(Ramp(ramp.begin + begin, ramp.end + begin))
        at = until + 1
    return steps, ramps


def _placed(values: Array, places: list[int]) -> list[Step]:
    """Place each step between its neighbours, with the interval that holds it."""
    steps: list[Step] = []
    bounds = [0, *places, len(values)]
    for begin, place, end in zip(bounds, bounds[1:], bounds[2:], strict=False):
        begin = steps[-1].index if steps else begin
        scores = scores_around(values[begin:end], [place - begin])
        weights = _weights(gains(scores[None])[0])
        index = begin + _likeliest(weights)
        order = np.argsort(weights)[::-1]
        enough = int(np.searchsorted(np.cumsum(weights[order]), _SURE)) + 1
        inside = order[:enough] + begin + 1
        steps.append(Step(index, min(int(inside.min()), index), max(int(inside.max()), index)))
    return steps


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
