"""The drop of a score from paired answers: right or wrong, graded, repeated, in categories.

``Drop`` counts in shares of the questions (0.02: two points), positive where the candidate lost.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from gauntlet.analyzer.accuracy.pairing import Pair
from gauntlet.analyzer.stats import paired_share

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """A drop with its interval (``alpha`` on each side) and what chance says of it.

    ``error`` is the standard error. ``p_drop`` is the p-value of "there is no drop", ``p_gain``
    that of "there is no gain". ``losses`` and ``gains`` count questions that only one side got
    right (or better); ``n`` counts answers and ``units`` what was taken as independent. ``binary``:
    each question once, right or wrong.
    """

    effect: float
    lower: float
    upper: float
    error: float
    p_drop: float
    p_gain: float
    n: int
    units: int
    losses: int
    gains: int
    method: str
    binary: bool = False

    @property
    def p_two_sided(self) -> float:
        """The p-value of "there is no change"."""
        return min(1.0, 2 * min(self.p_drop, self.p_gain))


@dataclass(frozen=True, slots=True, kw_only=True)
class ByEye:
    """What two scores show that are not paired: the drop with its z interval, and its error."""

    effect: float
    lower: float
    upper: float
    error: float


def estimate_drop(pairs: Sequence[Pair], alpha: float) -> Drop:
    """Estimate the drop; repeats of a question count as one cluster.

    Raises ValueError without pairs.
    """
    if not pairs:
        msg = "no pair to estimate from"
        raise ValueError(msg)
    return estimate([pair.drop for pair in pairs], [pair.cluster for pair in pairs], alpha)


def estimate(drops: npt.ArrayLike, clusters: Sequence[str], alpha: float) -> Drop:
    """Estimate the mean of differences, each of which belongs to the question named beside it."""
    values = np.asarray(drops, dtype=float)
    once = len(set(clusters)) == len(clusters)
    if once and np.isin(values, (-1.0, 0.0, 1.0)).all():
        return binary_drop(int((values > 0).sum()), int((values < 0).sum()), len(values), alpha)
    return clustered_drop(values, clusters, alpha)


def binary_drop(losses: int, gains: int, n: int, alpha: float) -> Drop:
    """Right or wrong: McNemar's exact test and Tango's score interval."""
    found = paired_share(losses, gains, n, alpha)
    effect = found.effect
    return Drop(
        effect=effect,
        lower=found.lower,
        upper=found.upper,
        error=math.sqrt(max(0.0, losses + gains - n * effect * effect)) / n,
        p_drop=found.p_value,
        p_gain=paired_share(gains, losses, n, alpha).p_value,
        n=n,
        units=n,
        losses=losses,
        gains=gains,
        method="exact McNemar, Tango's score interval",
        binary=True,
    )


def clustered_drop(drops: npt.ArrayLike, clusters: Sequence[str], alpha: float) -> Drop:
    """Graded or repeated answers: Student's t with an error that is robust to clusters.

    ``SE^2 = G/(G-1) sum_g (sum of (d_i - mean) in g)^2 / n^2`` with G - 1 degrees of freedom. With
    one answer to a cluster this is the paired t. The interval is never narrower than the one that
    G answers without any difference would leave (Tango's): few differences make t too sure.
    Where scores are right or wrong, the p-value is exact: on an unchanged build, the sides of each
    cluster could as well be exchanged.
    """
    values = np.asarray(drops, dtype=float)
    names, index = np.unique(np.asarray(clusters), return_inverse=True)
    n, units = len(values), len(names)
    effect = float(values.mean())
    sums: Floats = np.bincount(index, weights=values, minlength=units).astype(float)
    sizes = np.bincount(index, minlength=units)
    least = least_half_width(units, alpha)
    if units < 2:
        error, half = math.inf, math.inf
    else:
        residuals = sums - sizes * effect
        error = math.sqrt(units / (units - 1) * float((residuals**2).sum())) / n
        half = max(float(stats.t.ppf(1 - alpha, units - 1)) * error, least)
    p_drop, p_gain = _cluster_p(sums, values, effect, error, units)
    method = "paired Student's t" if units == n else f"Student's t over {units} clusters"
    return Drop(
        effect=effect,
        lower=max(-1.0, effect - half),
        upper=min(1.0, effect + half),
        error=error,
        p_drop=p_drop,
        p_gain=p_gain,
        n=n,
        units=units,
        losses=int((values > 0).sum()),
        gains=int((values < 0).sum()),
        method=method,
    )


def least_half_width(units: int, alpha: float) -> float:
    """Half an interval where no answer differs: Tango's, for so many independent questions."""
    z = float(stats.norm.ppf(1 - alpha))
    return z * z / (units + z * z)


def _cluster_p(
    sums: Floats, values: Floats, effect: float, error: float, units: int
) -> tuple[float, float]:
    whole = np.abs(sums)
    if np.isin(values, (-1.0, 0.0, 1.0)).all() and whole.sum() <= 20_000:
        sizes = np.rint(whole[whole > 0]).astype(int)
        total = round(float(sums.sum()))
        return sign_flip_p(sizes, total), sign_flip_p(sizes, -total)
    if units < 2:
        return 1.0, 1.0
    if error == 0:
        # Every answer moved alike: nothing to judge by, unless there are answers enough.
        one_way = 0.5**units if effect else 1.0
        return (one_way, 1.0) if effect > 0 else (1.0, one_way)
    p_drop = float(stats.t.sf(effect / error, units - 1))
    return p_drop, 1 - p_drop


def sign_flip_p(sizes: npt.NDArray[np.int_], total: int) -> float:
    """Chance that random signs of ``sizes`` add up to at least ``total``; exact.

    With sizes of 1 this is McNemar's test.
    """
    most = int(sizes.sum())
    chances = np.zeros(2 * most + 1)
    chances[most] = 1.0
    for size in sizes:
        chances = (np.roll(chances, size) + np.roll(chances, -size)) / 2
    return min(1.0, float(chances[most + total :].sum()))


def by_eye(pairs: Sequence[Pair], alpha: float) -> ByEye:
    """Compare two scores as if different questions had been asked; ``alpha`` on each side."""
    before = np.array([pair.before for pair in pairs])
    after = np.array([pair.after for pair in pairs])
    error = math.sqrt((float(before.var()) + float(after.var())) / len(pairs))
    effect = float(before.mean() - after.mean())
    half = float(stats.norm.ppf(1 - alpha)) * error
    return ByEye(effect=effect, lower=effect - half, upper=effect + half, error=error)


def detectable_drop(drop: Drop, alpha: float, power: float) -> float:
    """The smallest drop that such data show with the given power, at one-sided level ``alpha``.

    ``(t_{1-alpha} + t_power) SE``. Where few answers differ, the loss itself brings the differing
    answers: k^2 of them are the least that shows anything (k the sum of both quantiles).
    """
    k = float(stats.norm.ppf(1 - alpha) + stats.norm.ppf(power))
    least = k * k / drop.units
    if drop.units < 2:
        return 1.0
    freedom = drop.units - 1
    quantiles = float(stats.t.ppf(1 - alpha, freedom) + stats.t.ppf(power, freedom))
    return min(1.0, max(quantiles * drop.error, least))


def by_stratum(pairs: Sequence[Pair]) -> dict[str, list[Pair]]:
    """Pairs by category, in the order in which categories first appear."""
    found: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        found[pair.stratum].append(pair)
    return dict(found)
