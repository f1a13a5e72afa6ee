"""How large a gain pure noise reaches: the limit for one stretch, by its length.

``tools/changepoint_thresholds.py`` computed the table: quantiles of the best split's excess over
series of independent normal noise. It goes on beyond the last length by the logarithm.
"""

import numpy as np

FALSE_ALARMS = 0.006
"""Share of unchanged stretches of independent noise whose best split exceeds the limit."""

SHORTEST_SERIES = 10
"""Fewer points can show no step with so few false alarms."""

_LENGTHS = (10, 12, 14, 17, 20, 25, 30, 40, 60, 90, 140, 200, 350, 600, 1000)
_LIMITS = (5.86, 5.88, 5.90, 5.92, 5.95, 5.98, 6.02, 6.08, 6.17, 6.28, 6.41, 6.53, 6.74, 6.97, 7.20)


def limit(count: int) -> float:
    """Excess that a split of a stretch of ``count`` points must have."""
    if count <= _LENGTHS[-1]:
        return float(np.interp(np.log(count), np.log(_LENGTHS), _LIMITS))
    # Beyond the table the largest of ever more windows grows like a logarithm.
    slope = (_LIMITS[-1] - _LIMITS[8]) / np.log(_LENGTHS[-1] / _LENGTHS[8])
    return float(_LIMITS[-1] + slope * np.log(count / _LENGTHS[-1]))


def chance(excess: float) -> float:
    """Share of unchanged stretches that exceed the limit by ``excess`` or more, at most 1.

    The tail of a log likelihood ratio falls by e with each unit; a fact of the table, too, where
    the limits of 0.3 % and 3 % are 2.1 to 2.5 apart.
    """
    return float(min(1.0, FALSE_ALARMS * np.exp(-excess)))
