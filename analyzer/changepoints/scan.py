"""Likelihood of one step in noise that may remember: every split of every window at once."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Places = NDArray[np.int64]

SHORTEST = 3
"""Points that a level needs on either side of a split."""

_PHIS = (0.0, 0.15, 0.3, 0.45, 0.6, 0.75)
# What a memory costs in log likelihood, per phi squared. Without it every step could be taken for
# memory and every memory for a step; 0 to 10 were tried: more finds more steps in AR(1) noise and
# alarms on more unchanged series of it, independent noise is indifferent. At 3, four in a hundred
# unchanged series with phi = 0.5 alarm.
_MEMORY_COST = 3.0


@dataclass(frozen=True, slots=True)
class _Design:
    """What depends only on the length of a window and the memories; see ``gains``."""

    phi: Array  # (phi, 1, 1)
    first: Array  # (phi, 1): factor of the first point
    slope: Array  # (phi, 1, 1): what whitening leaves of a level
    level_norm: Array  # (phi, 1)
    share: Array  # (phi, 1, splits): the level's part in a step
    step_norm: Array  # (phi, 1, splits)
    cost: Array  # (phi, 1)
    edge: Array  # (splits,)


@lru_cache(maxsize=256)
def _design(length: int, memory: float | None) -> _Design:
    phi = np.array(_PHIS if memory is None else (memory,))[:, None]
    slope = 1 - phi
    level_norm = (1 - phi**2) + (length - 1) * slope**2
    splits = np.arange(1, length)
    after = length - 1 - splits[None, :]
    step_level = slope + slope**2 * after
    step_norm = 1 + slope**2 * after - step_level**2 / level_norm
    cost = (_MEMORY_COST * phi**2 if memory is None else 0.0) - 0.5 * np.log(1 - phi**2)
    return _Design(
        phi=phi[:, :, None],
        first=np.sqrt(1 - phi**2),
        slope=slope[:, :, None],
        level_norm=level_norm,
        share=(step_level / level_norm)[:, None, :],
        step_norm=step_norm[:, None, :],
        cost=cost,
        edge=0.5 * np.log(4 * splits * (length - splits) / length**2),
    )


def gains(windows: Array, lost: float = 0.0, memory: float | None = None) -> Array:
    """Gain in log likelihood of a step at each split of each window, (windows, length - 1).

    Column *k* is a new level from point *k* + 1 on. Both models, one level and two, have AR(1)
    noise with the memory phi that suits them best, each memory at its cost, or with a given
    ``memory``; the variance is profiled out. Splits near the ends pay half the log of how unequal
    they are: noise reaches more there. ``lost`` is the sum of squares, per window, that ties took
    from the scores: it counts as noise, so that few distinct values do not look like certainty.
    Splits that leave fewer than ``SHORTEST`` points on a side get minus infinity.
    """
    length = windows.shape[1]
    design = _design(length, memory)
    innovations = np.empty((len(design.phi), *windows.shape))
    innovations[:, :, 1:] = windows[None, :, 1:] - design.phi * windows[None, :, :-1]
    innovations[:, :, 0] = design.first * windows[None, :, 0]
    total = innovations[:, :, 1:].sum(axis=2)
    level = design.first * innovations[:, :, 0] + design.slope[:, :, 0] * total
    # What ties hide is independent from point to point, and whitened like the rest.
    hidden = lost * (1 + design.phi[:, :, 0] ** 2)
    one = (innovations**2).sum(axis=2) - level**2 / design.level_norm + hidden
    # Sum of the innovations after each split, from what came before it.
    after = total[:, :, None] - np.cumsum(innovations[:, :, 1:], axis=2)
    step = innovations[:, :, 1:] + design.slope * after - level[:, :, None] * design.share
    two = one[:, :, None] - step**2 / design.step_norm
    floor = 1e-9 * length
    half = length / 2
    of_one = (-half * np.log(np.maximum(one, floor)) - design.cost).max(axis=0)
    of_two = (-half * np.log(np.maximum(two, floor)) - design.cost[:, :, None]).max(axis=0)
    gain: Array = of_two - of_one[:, None] + design.edge
    gain[:, : SHORTEST - 1] = -np.inf
    gain[:, length - SHORTEST :] = -np.inf
    return gain
