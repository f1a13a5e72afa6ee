"""Levels of a series and the change from one to the next, with intervals that know the memory."""

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from gauntlet.analyzer.changepoints.scan import Array
from gauntlet.analyzer.changepoints.scores import clipped_noise, spread_of
from gauntlet.analyzer.history.shape import Change

_LEVEL = 0.975
_POINTS_OF_A_LINE = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """Points ``begin`` … ``end`` - 1 around one value.

    ``value`` is the mean of values clipped around their median, ``spread`` their sd, ``error`` the
    standard error of the value with the noise's memory; None with a single point.
    """

    begin: int
    end: int
    value: float
    spread: float | None
    error: float | None

    @property
    def n(self) -> int:
        """Points."""
        return self.end - self.begin

    @property
    def noise_percent(self) -> float | None:
        """Spread of one point, relative to the value."""
        if self.spread is None or self.value == 0:
            return None
        return 100 * self.spread / abs(self.value)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The 95 % interval of the value; None with a single point."""
        if self.error is None:
            return None
        half = float(stats.t.ppf(_LEVEL, self.n - 1)) * self.error
        return self.value - half, self.value + half


def level_of(values: Array, begin: int, end: int, memory: float) -> Level:
    """Estimate the level of a stretch, which has one point at least."""
    part = clipped_noise(values[begin:end])
    count = len(part)
    spread = spread_of(values[begin:end])
    error = None
    if spread is not None:
        error = spread / math.sqrt(count) * math.sqrt(variance_factor(count, memory))
    return Level(begin=begin, end=end, value=float(part.mean()), spread=spread, error=error)


def variance_factor(count: int, memory: float) -> float:
    """By how much a memory widens the variance of a mean of ``count`` points in a row, AR(1)."""
    lags = np.arange(1, count)
    return float(1 + 2 * ((1 - lags / count) * memory**lags).sum())


def change_between(before: Level, after: Level, p_value: float | None) -> Change:
    """The change from one level to another, in percent of the first, with its 95 % interval.

    The interval is Welch's, with the errors of both levels; a level of one point borrows the
    other's spread. Without ``p_value``, the change's own two-sided one is given.
    """
    spread = before.spread if before.spread is not None else after.spread
    errors = [
        level.error if level.error is not None else (spread or 0.0) for level in (before, after)
    ]
    error = math.hypot(*errors)
    difference = after.value - before.value
    freedom = max(1.0, float(before.n + after.n - 2))
    half = float(stats.t.ppf(_LEVEL, freedom)) * error
    scale = percent_of(before.value, after.value)
    own = 2 * float(stats.t.sf(abs(difference) / error, freedom)) if error > 0 else 0.0
    return Change(
        kind="step",
        index=after.begin,
        first=after.begin,
        last=after.begin,
        effect_percent=difference * scale,
        lower_percent=(difference - half) * scale,
        upper_percent=(difference + half) * scale,
        before=before.value,
        after=after.value,
        n_before=before.n,
        n_after=after.n,
        p_value=own if p_value is None else p_value,
        method="likelihood-ratio scan with AR(1) noise; Welch interval of clipped means",
    )


def line_through(values: Array) -> Array:
    """Theil and Sen's line at every point: the median slope, which outliers do not turn.

    It looks at pairs, so of a long series evenly spaced points stand for all.
    """
    points = np.arange(len(values))
    chosen = points[:: -(-len(values) // _POINTS_OF_A_LINE)]
    found = stats.theilslopes(values[chosen], chosen)
    line: Array = found.intercept + found.slope * points
    return line


def percent_of(level: float, other: float) -> float:
    """What one unit is in percent of ``level``; of ``other`` where the level is 0."""
    whole = abs(level) or abs(other)
    return 100 / whole if whole else 0.0
