"""What is left around the levels: single points far away, and changes of the spread."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from scipy import stats

from gauntlet.analyzer.changepoints.drift import Ramp
from gauntlet.analyzer.changepoints.scan import Array
from gauntlet.analyzer.changepoints.scores import robust_spread
from gauntlet.analyzer.changepoints.segment import segment
from gauntlet.analyzer.history.levels import change_between, level_of, line_through, percent_of
from gauntlet.analyzer.history.shape import Change

_FAR = 4.5
"""Robust standard deviations beyond which a point is an outlier; t with 3 degrees: 1 in 100."""
_LEAST_POINTS = 20
"""Points that say something about a spread and its change."""
_LONGEST = 2
"""More outliers in a row are a level of their own."""


def residuals_of(values: Array, cuts: Sequence[int], drifts: Sequence[Ramp]) -> Array:
    """Values less their level's median, or less the line through a drift."""
    residuals = np.empty(len(values))
    bounds = sorted({0, *(cut for cut in cuts if cut < len(values)), len(values)})
    ramps = {ramp.begin: ramp for ramp in drifts}
    for begin, end in pairwise(bounds):
        part = values[begin:end]
        if begin in ramps and ramps[begin].end >= end and end - begin > 2:
            residuals[begin:end] = part - line_through(part)
        else:
            residuals[begin:end] = part - np.median(part)
    return residuals


def outliers(values: Array, cuts: Sequence[int], drifts: Sequence[Ramp]) -> list[Change]:
    """One or two points in a row far from a level that goes on after them."""
    residuals = residuals_of(values, cuts, drifts)
    noise = robust_spread(residuals)
    if noise == 0.0 or len(values) < _LEAST_POINTS // 2:
        return []
    far = np.flatnonzero(np.abs(residuals) > _FAR * noise)
    groups: list[list[int]] = []
    for index in map(int, far):
        if groups and index == groups[-1][-1] + 1:
            groups[-1].append(index)
        else:
            groups.append([index])
    return [
        _outlier(values, residuals, noise, group)
        for group in groups
        if len(group) <= _LONGEST and group[-1] < len(values) - 1
    ]


def _outlier(values: Array, residuals: Array, noise: float, group: list[int]) -> Change:
    begin, end = group[0], group[-1] + 1
    before = float(np.median(values[begin:end] - residuals[begin:end]))
    after = float(values[begin:end].mean())
    difference = after - before
    half = float(stats.norm.ppf(0.975)) * noise / math.sqrt(len(group))
    scale = percent_of(before, after)
    # The largest of n points, not of one.
    z = abs(difference) / noise * math.sqrt(len(group))
    chance = min(1.0, len(values) * 2 * float(stats.norm.sf(z)))
    return Change(
        kind="outlier",
        index=begin,
        first=begin,
        last=end - 1,
        end=end,
        effect_percent=difference * scale,
        lower_percent=(difference - half) * scale,
        upper_percent=(difference + half) * scale,
        before=before,
        after=after,
        n_before=len(values) - len(group),
        n_after=len(group),
        p_value=chance,
        method=f"more than {_FAR} robust standard deviations from its level",
    )


def variance_changes(values: Array, cuts: Sequence[int], drifts: Sequence[Ramp]) -> list[Change]:
    """Steps of the spread: the same scan over the distances from the levels."""
    if len(values) < _LEAST_POINTS:
        return []
    distances = np.abs(residuals_of(values, cuts, drifts))
    found = segment(distances)
    bounds = [0, *(step.index for step in found.steps), len(values)]
    changes = []
    for at, step in enumerate(found.steps):
        before = level_of(distances, bounds[at], step.index, found.memory)
        after = level_of(distances, step.index, bounds[at + 2], found.memory)
        change = change_between(before, after, step.p_value)
        changes.append(
            replace(
                change,
                kind="variance",
                index=step.index,
                first=step.first,
                last=step.last,
                method="likelihood-ratio scan of the distances from the level",
            )
        )
    return changes
