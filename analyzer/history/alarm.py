"""The fast alarm: are the last one to three points far from the present level?"""

import math

import numpy as np
from scipy import stats

from gauntlet.analyzer.changepoints.scan import Array
from gauntlet.analyzer.changepoints.scores import clipped_noise, spread_of
from gauntlet.analyzer.history.levels import percent_of, variance_factor
from gauntlet.analyzer.history.shape import Alarm

_MOST = 3
_MOST_Z = 1e6
_LEAST_LEVEL = 8
"""Points of a level that say how far is far."""


def alarm_at_end(values: Array, begin: int, memory: float, rate: float) -> Alarm | None:
    """Raise an alarm where noise puts the last points so far from the level in ``rate`` of series.

    The level are the points from ``begin`` on but the last; its noise is robust, so that an old
    outlier hides nothing. Three group sizes share the rate; the most surprising one is reported.
    """
    best: Alarm | None = None
    for points in range(1, _MOST + 1):
        found = _far(values, begin, points, memory)
        if found is not None and (best is None or found.p_value < best.p_value):
            best = found
    return best if best is not None and best.p_value * _MOST < rate else None


def _far(values: Array, begin: int, points: int, memory: float) -> Alarm | None:
    split = len(values) - points
    if split - begin < _LEAST_LEVEL:
        return None
    level, last = values[begin:split], values[split:]
    centre = float(clipped_noise(level).mean())
    if len(set(np.sign(last - centre))) != 1:
        return None
    count = len(level)
    noise = spread_of(level) or 0.0
    error = noise * math.sqrt(
        variance_factor(points, memory) / points + variance_factor(count, memory) / count
    )
    difference = float(last.mean()) - centre
    if error == 0.0:
        # A level without any noise: each difference is one.
        z, chance = (math.copysign(_MOST_Z, difference), 0.0) if difference else (0.0, 1.0)
    else:
        z = max(-_MOST_Z, min(_MOST_Z, difference / error))
        chance = 2 * float(stats.t.sf(abs(z), count - 1))
    half = float(stats.t.ppf(0.975, count - 1)) * error
    scale = percent_of(centre, float(last.mean()))
    return Alarm(
        index=split,
        parent=split - 1,
        points=points,
        effect_percent=difference * scale,
        lower_percent=(difference - half) * scale,
        upper_percent=(difference + half) * scale,
        z=z,
        p_value=chance,
    )
