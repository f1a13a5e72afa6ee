"""Values as scores that no single point can dominate."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from gauntlet.analyzer.changepoints.scan import Array

# Where a deviation stops to count more. Ranks would be calibrated for noise of any shape, but they
# hide how far away five late points are: of steps of 2.5 sigma with five points after them the scan
# found 65 % instead of 72 %, of the edges of a burst of six 4 % instead of 44 %. At 3 it would
# find 78 and 80 %, but alarm on 1.8 % of exponential noise instead of 0.5 %.
_CLIP = 2.25
_TO_SIGMA = 1.4826
# What clipping leaves of the standard deviation of normal values.
_CLIPPED_SIGMA = 0.978
# Spreads below this share of the largest deviation are rounding, and nothing to divide by.
_TINY = 1e-12


def scores_of(values: Array) -> tuple[Array, float]:
    """Scores with mean square 1, and the sum of squares that ties took from them.

    Deviations from the median in units of each side's own spread, so that skewed noise becomes
    nearly symmetric, clipped. Where half of one side is equal to the median there is no spread to
    divide by: ranks are turned into normal scores then. Constant values score 0.
    """
    deviations = values - np.median(values)
    above, below = deviations[deviations > 0], -deviations[deviations < 0]
    # Half of a side may sit on the median without being in either group: count it.
    if 2 * min(len(above), len(below)) < 0.6 * len(values):
        return normal_scores(values)
    spread = np.where(deviations > 0, np.median(above), np.median(below)) * _TO_SIGMA
    least = _TINY * float(np.abs(deviations).max())
    scores = np.clip(deviations / np.maximum(spread, least), -_CLIP, _CLIP)
    centred: Array = scores - scores.mean()
    return centred / np.sqrt((centred**2).mean()), 0.0


def scores_around(values: Array, places: Sequence[int]) -> Array:
    """Values in units of their noise around the levels between ``places``, clipped beyond them.

    For placing what was found: nothing between the outermost levels is moved, so that a large step
    stays sharp, and outliers count no more than ``_CLIP`` beyond.
    """
    parts = np.split(values, list(places))
    levels = np.array([np.median(part) for part in parts])
    residuals = values - np.repeat(levels, [len(part) for part in parts])
    noise = robust_spread(residuals)
    if noise == 0.0:
        noise = float(np.sqrt((residuals**2).mean())) or float(np.ptp(levels)) * 1e-3 or 1.0
    inside = np.clip(values, levels.min() - _CLIP * noise, levels.max() + _CLIP * noise)
    scores: Array = (inside - inside.mean()) / noise
    return scores


def robust_spread(values: Array) -> float:
    """Standard deviation by the median distance from the median (times 1.4826, as if normal)."""
    distances = np.abs(values - np.median(values))
    spread = _TO_SIGMA * float(np.median(distances))
    return spread if spread > _TINY * float(distances.max()) else 0.0


def clipped_noise(values: Array) -> Array:
    """Values with what is further than ``_CLIP`` robust standard deviations moved in to there."""
    spread = robust_spread(values)
    if spread == 0.0:
        return values
    centre = float(np.median(values))
    return np.clip(values, centre - _CLIP * spread, centre + _CLIP * spread)


def spread_of(values: Array) -> float | None:
    """Standard deviation, clipped, as if normal; None for a single value."""
    if len(values) < 2:
        return None
    return float(clipped_noise(values).std(ddof=1)) / _CLIPPED_SIGMA


def normal_scores(values: Array) -> tuple[Array, float]:
    """Ranks as normal scores, and the sum of squares lost to ties.

    Equal values share the mean of their scores.
    """
    count = len(values)
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    sizes = np.diff(np.r_[starts, count])
    scores = np.empty(count)
    scores[order] = np.repeat(np.add.reduceat(_fixed(count), starts) / sizes, sizes)
    return scores, max(0.0, count - float((scores**2).sum()))


@lru_cache(maxsize=512)
def _fixed(count: int) -> Array:
    scores: Array = ndtri((np.arange(1, count + 1) - 0.375) / (count + 0.25))
    unit: Array = scores / np.sqrt(max((scores**2).mean(), 1e-300))
    return unit
