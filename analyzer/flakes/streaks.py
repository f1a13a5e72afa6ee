"""When a streak of failures is more than a flake's bad luck.

Were the failures of a history strewn over it by chance, the newest ``streak`` of ``runs`` would all
be among the ``failures`` with probability C(runs - streak, failures - streak) / C(runs, failures),
whatever the rate is: the test is exact, and an unknown rate costs nothing. It is asked anew after
every run, so the limits are far below 1 %: measured by ``benchmarks/flakes.py``.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from gauntlet.analyzer.flakes.segments import Bools, Ints

LEAST = 3
"""Shorter streaks never open a break."""
BORN = 6
"""A test that has never passed is broken after so many runs."""
LIMIT, LIMIT_RARE = 1.5e-4, 4e-4
RARE = 0.045
"""Where the runs before failed less often, bad luck of this kind has fewer chances."""


def log_chance(runs: Ints | int, failures: Ints | int, streak: Ints | int) -> NDArray[np.float64]:
    """Log of the probability that a given stretch of ``streak`` runs failed throughout."""
    runs, failures, streak = np.asarray(runs), np.asarray(failures), np.asarray(streak)
    return np.asarray(
        gammaln(runs - streak + 1)
        - gammaln(failures - streak + 1)
        + gammaln(failures + 1)
        - gammaln(runs + 1)
    )


def is_break(runs: Ints | int, failures: Ints | int, streak: Ints | int) -> Bools:
    """Whether a stretch of failures is too unlikely for the rate outside it."""
    runs, failures, streak = np.asarray(runs), np.asarray(failures), np.asarray(streak)
    outside = (failures - streak + 0.5) / (runs - streak + 1)
    limit = np.log(np.where(outside <= RARE, LIMIT_RARE, LIMIT))
    born = (streak == runs) & (streak >= BORN)
    return np.asarray((streak >= LEAST) & (log_chance(runs, failures, streak) <= limit) | born)


def opened(failed: Bools) -> Bools:
    """Walk forward through many histories (rows): where would a break be opened, run by run?"""
    runs = np.arange(1, failed.shape[1] + 1)[None, :]
    return is_break(runs, np.cumsum(failed, axis=1), streaks_of(failed))


def streaks_of(failed: Bools) -> Ints:
    """How many runs in a row had failed, after each run, for many histories (rows)."""
    places = np.arange(1, failed.shape[1] + 1)[None, :]
    last_pass = np.maximum.accumulate(np.where(failed, 0, places), axis=1)
    return np.asarray(places - last_pass)


def more_failures(runs: int, failures: int, streak: int) -> int:
    """How many further failures in a row would open a break, 0 where it is open."""
    ahead = np.arange(0, 101)
    found = is_break(runs + ahead, failures + ahead, streak + ahead)
    return int(found.argmax()) if found.any() else len(ahead)


def broken_stretches(failed: Bools) -> list[tuple[int, int]]:
    """Find past stretches of failures that were breaks, repaired since: (start, stop) by index.

    The longest are taken out first, for they would make the rate of the rest look high.
    """
    edges = np.flatnonzero(np.diff(np.r_[False, failed, False]))
    stretches = sorted(
        zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True),
        key=lambda stretch: stretch[0] - stretch[1],
    )
    runs, failures = len(failed), int(failed.sum())
    found = []
    for start, stop in stretches:
        length = stop - start
        # A whole history of failures is its present state, not an episode of it.
        if length == runs or not is_break(runs, failures, length):
            break
        found.append((start, stop))
        runs, failures = runs - length, failures - length
    return sorted(found)
