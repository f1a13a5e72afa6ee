"""The best split of a stretch: the whole of it first, then windows of every length."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gauntlet.analyzer.changepoints.scan import Array, Places, gains

_RATIO = 2**-0.5
_NARROWEST = 12
_OVERLAP = 4
# A split seen in a window needs more: there are many windows, and more of the narrow ones.
_WINDOW_COST = 4.0
_NARROW_COST = 1.0


@dataclass(frozen=True, slots=True)
class Split:
    """The best split of a stretch, which begins at 0.

    ``excess`` is its gain less what its window costs; ``begin`` the window's first point;
    ``gains`` those of all splits of the window.
    """

    excess: float
    begin: int
    gains: Array


def best_split(scores: Array, lost: float) -> Split:
    """Find the split with the largest excess; ties go to the longer window."""
    count = len(scores)
    best: Split | None = None
    for length in _lengths(count):
        begins = _begins(count, length)
        windows = np.lib.stride_tricks.sliding_window_view(scores, length)[begins]
        found = gains(windows, lost * length / count)
        window, split = divmod(int(found.argmax()), length - 1)
        cost = 0.0 if length == count else _WINDOW_COST + _NARROW_COST * np.log(count / length)
        excess = float(found[window, split] - cost)
        if best is None or excess > best.excess:
            best = Split(excess=excess, begin=int(begins[window]), gains=found[window])
    assert best is not None  # noqa: S101 - there is always the whole stretch
    return best


@lru_cache(maxsize=1024)
def _lengths(count: int) -> tuple[int, ...]:
    lengths, length = [count], count * _RATIO
    while length >= _NARROWEST:
        lengths.append(round(length))
        length *= _RATIO
    return tuple(lengths)


@lru_cache(maxsize=1024)
def _begins(count: int, length: int) -> Places:
    begins = np.arange(0, count - length + 1, max(1, length // _OVERLAP))
    return np.unique(np.append(begins, count - length))
