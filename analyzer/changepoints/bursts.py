"""Short levels: a few points in a row, all far away on one side, and back again.

The scan for one step sees half of them at best: on one of their sides are too few points.
"""

from itertools import groupby

import numpy as np

from gauntlet.analyzer.changepoints.scan import SHORTEST, Array
from gauntlet.analyzer.changepoints.scores import robust_spread
from gauntlet.analyzer.changepoints.thresholds import FALSE_ALARMS

_FAR = 3.0


def bursts(values: Array) -> list[tuple[int, int]]:
    """Runs (first, one past the last) too long for as many far points in random order.

    Of *n* points *m* are far on that side; a run of *r* somewhere has a chance of at most
    ``n (m/n)^r``. The shape of the noise does not matter: it is in *m*. A run at either end is a
    step and the scan's business.
    """
    count = len(values)
    distances = values - np.median(values)
    # Where half of the values are equal the spread is 0, and whatever differs is far.
    sides = np.where(np.abs(distances) > _FAR * robust_spread(values), np.sign(distances), 0.0)
    found = []
    begin = 0
    for side, run in groupby(sides):
        end = begin + len(list(run))
        if side and end - begin >= SHORTEST and begin > 0 and end < count:
            far = int((sides == side).sum())
            if count * (far / count) ** (end - begin) < FALSE_ALARMS:
                found.append((begin, end))
        begin = end
    return found
