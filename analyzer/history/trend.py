"""A slow drift that no step explains: does the whole series lean one way?"""

import math
from dataclasses import replace

import numpy as np
from scipy import stats

from gauntlet.analyzer.changepoints.scan import Array
from gauntlet.analyzer.changepoints.segment import memory_of
from gauntlet.analyzer.changepoints.thresholds import SHORTEST_SERIES
from gauntlet.analyzer.history.levels import change_between, level_of, line_through, variance_factor
from gauntlet.analyzer.history.shape import Change

_RATE = 0.001
"""Share of unchanged series that lean so much. Rare: nobody can act on a drift in a hurry."""


def slow_drift(values: Array) -> Change | None:
    """Find a trend of the whole series by Kendall's tau, widened by the memory of the noise.

    The effect is that of the last quarter against the first. (Mann 1945, Econometrica 13; Hamed
    and Rao 1998, Journal of Hydrology 204, for the widening.)
    """
    count = len(values)
    if count < SHORTEST_SERIES:
        return None
    order = np.arange(count)
    tau, chance = stats.kendalltau(order, values)
    if math.isnan(tau) or chance >= _RATE:
        return None  # a memory only makes it less
    memory = memory_of(values - line_through(values), [])
    z = float(stats.norm.isf(chance / 2)) / math.sqrt(variance_factor(count, memory))
    widened = 2 * float(stats.norm.sf(z))
    if widened >= _RATE:
        return None
    quarter = max(2, count // 4)
    before = level_of(values, 0, quarter, memory)
    after = level_of(values, count - quarter, count, memory)
    return replace(
        change_between(before, after, widened),
        kind="drift",
        index=0,
        first=0,
        last=count - 1,
        method="Kendall's tau, widened by AR(1) memory; last quarter against the first",
    )
