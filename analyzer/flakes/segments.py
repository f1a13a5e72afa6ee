"""Change points of a pass and fail history: Beta-Binomial segments, as LUCI Analysis splits them.

A history is a row of booleans, oldest first, True where the run failed. Runs that were not made
are not in it: what counts is order, not time. Prior of a rate: Beta(0.3, 0.5).
"""

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, gammaln

A, B = 0.3, 0.5
SPLIT_PRIOR = 1e-4
"""How likely a change is before a given run, before anything is seen."""

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Interval(NamedTuple):
    """A rate: its posterior mean and a credible interval around it, 0 to 1."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePoint:
    """Between runs ``index - 1`` and ``index``; with 99 % it is from ``low`` to ``high``.

    ``log_odds`` is by how much a change explains the runs better than none, the prior included.
    """

    index: int
    low: int
    high: int
    log_odds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """Runs ``start`` to ``stop`` (not included) of one rate."""

    start: int
    stop: int
    failures: int

    @property
    def runs(self) -> int:
        """How many runs it has."""
        return self.stop - self.start

    def rate(self, *, level: float = 0.95) -> Interval:
        """Posterior failure rate."""
        return rate_of(self.failures, self.runs, level=level)


@dataclass(frozen=True, slots=True, kw_only=True)
class Segmentation:
    """All segments, oldest first, and the change points between them."""

    segments: tuple[Segment, ...]
    changes: tuple[ChangePoint, ...]


def rate_of(failures: int, runs: int, *, level: float = 0.95) -> Interval:
    """Posterior failure rate after ``failures`` of ``runs``, with a central interval."""
    a, b = A + failures, B + runs - failures
    tail = (1 - level) / 2
    return Interval(a / (a + b), float(betaincinv(a, b, tail)), float(betaincinv(a, b, 1 - tail)))


def best_splits(failed: Bools) -> tuple[Ints, Floats]:
    """Find the best change point of each of many histories of one length (rows), all at once.

    Returns its index and log odds by row; 0 and minus infinity for histories of one run.
    """
    histories, runs = failed.shape
    if runs < 2:
        return np.zeros(histories, np.int64), np.full(histories, -np.inf)
    gains = _gains(np.cumsum(failed, axis=1, dtype=np.int64))
    best = gains.argmax(axis=1)
    return best + 1, gains[np.arange(histories), best] + np.log(SPLIT_PRIOR)


def segments_of(failed: Bools) -> Segmentation:
    """Split one history wherever a change is likelier than not, and each part again."""
    failed = np.asarray(failed, dtype=bool)
    changes: list[ChangePoint] = []
    parts = [(0, len(failed))]
    while parts:
        start, stop = parts.pop()
        part = failed[start:stop]
        # One rate explains runs that all ended alike.
        if part.all() or not part.any():
            continue
        change = _change(part, start)
        if change.log_odds > 0:
            changes.append(change)
            parts += [(start, change.index), (change.index, stop)]
    changes.sort(key=lambda change: change.index)
    edges = [0, *(change.index for change in changes), len(failed)]
    segments = tuple(
        Segment(start=start, stop=stop, failures=int(failed[start:stop].sum()))
        for start, stop in pairwise(edges)
        if stop > start
    )
    return Segmentation(segments=segments, changes=tuple(changes))


def place_of_change(failed: Bools, *, level: float = 0.99) -> tuple[int, int]:
    """Between which indexes the change lies, given that there is exactly one.

    Raises ValueError for fewer than two runs.
    """
    if len(failed) < 2:
        msg = "a change needs two runs"
        raise ValueError(msg)
    gains = _gains(np.cumsum(failed, dtype=np.int64)[None, :])[0]
    return _interval(gains, level)


def _change(part: Bools, offset: int) -> ChangePoint:
    gains = _gains(np.cumsum(part, dtype=np.int64)[None, :])[0]
    best = int(gains.argmax())
    low, high = _interval(gains, 0.99)
    return ChangePoint(
        index=offset + best + 1,
        low=offset + low,
        high=offset + high,
        log_odds=float(gains[best] + np.log(SPLIT_PRIOR)),
    )


def _interval(gains: Floats, level: float) -> tuple[int, int]:
    weights = np.exp(gains - gains.max())
    below = np.cumsum(weights) / weights.sum()
    tail = (1 - level) / 2
    low = int(np.searchsorted(below, tail)) + 1
    high = int(np.searchsorted(below, 1 - tail)) + 1
    return low, min(high, len(gains))


def _gains(sums: Ints) -> Floats:
    """By how much a change before run 1, 2, ... explains each row better than none."""
    runs = sums.shape[1]
    of_a, of_b, of_both = _tables(1 << runs.bit_length())
    left = np.arange(1, runs)
    before = sums[:, :-1]
    total = sums[:, -1:]
    after = total - before
    gains = of_a[before] + of_b[left - before] - of_both[left]
    gains += of_a[after] + of_b[runs - left - after] - of_both[runs - left]
    gains -= of_a[total] + of_b[runs - total] - of_both[runs]
    # Each segment has a rate of its own, so the prior's constant counts once more on the left.
    return np.asarray(gains - (gammaln(A) + gammaln(B) - gammaln(A + B)))


@cache
def _tables(size: int) -> tuple[Floats, Floats, Floats]:
    counts = np.arange(size + 1)
    return gammaln(A + counts), gammaln(B + counts), gammaln(A + B + counts)
