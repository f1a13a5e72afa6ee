"""A second method for quantiles: resample runs, and requests within runs.

It needs the values of requests, and runs enough: a percentile interval over five runs is too
narrow by a fifth, so below six a side Student's interval on the runs' own quantiles stays.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gauntlet.analyzer.stats import Estimate

Values = npt.NDArray[np.float64]
LEAST_RUNS = 6
LEAST_RESAMPLES = 2000


def hierarchical_bootstrap(
    baseline: Sequence[Sequence[float]],
    candidate: Sequence[Sequence[float]],
    *,
    quantile: float,
    alpha: float,
    paired: bool = False,
    resamples: int = LEAST_RESAMPLES,
    seed: int = 0,
) -> Estimate:
    """Estimate the log ratio of a quantile; ``alpha`` on each side of the interval.

    Each run is a sequence of its requests' values; ``paired`` runs are resampled together, the
    i-th with the i-th. The p-value is of "the ratio is not above 1".

    Raises ValueError for fewer than six runs a side, runs without values or with values that have
    no logarithm, unequal numbers of paired runs, or fewer than 2,000 resamples.
    """
    sides = [[_sorted_logs(run) for run in runs] for runs in (baseline, candidate)]
    _check(sides, paired=paired, resamples=resamples)
    random = np.random.default_rng(seed)
    first = random.integers(0, len(sides[0]), (resamples, len(sides[0])))
    second = first if paired else random.integers(0, len(sides[1]), (resamples, len(sides[1])))
    means = [
        _resampled_means(runs, picked, quantile, random)
        for runs, picked in zip(sides, (first, second), strict=True)
    ]
    ratios = means[1] - means[0]
    observed = [float(np.mean([np.quantile(run, quantile) for run in runs])) for runs in sides]
    low, high = np.quantile(ratios, [alpha, 1 - alpha])
    return Estimate(
        effect=observed[1] - observed[0],
        lower=float(low),
        upper=float(high),
        p_value=(1 + int((ratios <= 0).sum())) / (resamples + 1),
        n=len(sides[0]) if paired else len(sides[0]) + len(sides[1]),
    )


def _check(sides: Sequence[Sequence[Values]], *, paired: bool, resamples: int) -> None:
    least = min(len(runs) for runs in sides)
    if least < LEAST_RUNS:
        msg = f"resampling {least} runs gives too narrow intervals; {LEAST_RUNS} a side are needed"
        raise ValueError(msg)
    if paired and len(sides[0]) != len(sides[1]):
        msg = f"{len(sides[0])} and {len(sides[1])} runs are no pairs"
        raise ValueError(msg)
    if resamples < LEAST_RESAMPLES:
        msg = f"{resamples} resamples are too few for a quantile; at least {LEAST_RESAMPLES}"
        raise ValueError(msg)


def _sorted_logs(run: Sequence[float]) -> Values:
    values = np.asarray(run, dtype=float)
    if not values.size or not np.isfinite(values).all() or (values <= 0).any():
        msg = "every run needs values, and all of them finite and above zero"
        raise ValueError(msg)
    return np.sort(np.log(values))


def _resampled_means(
    runs: Sequence[Values],
    picked: npt.NDArray[np.int64],
    quantile: float,
    random: np.random.Generator,
) -> Values:
    """Mean over the picked runs of the quantile of a resample of each."""
    drawn = np.empty(picked.shape)
    for index, run in enumerate(runs):
        places = picked == index
        drawn[places] = _quantiles_of_resamples(run, quantile, int(places.sum()), random)
    means: Values = drawn.mean(axis=1)
    return means


def _quantiles_of_resamples(
    run: Values, quantile: float, count: int, random: np.random.Generator
) -> Values:
    """Quantiles of ``count`` resamples of a sorted run, without making the resamples.

    The k-th smallest of m uniform numbers is Beta(k, m - k + 1), the next one a minimum of the
    rest: both tell which sorted values a resample would have had around its quantile.
    """
    size = len(run)
    position = quantile * (size - 1)
    below = math.floor(position)
    lower = random.beta(below + 1, size - below, count)
    picked = run[np.minimum((lower * size).astype(int), size - 1)]
    share = position - below
    if share > 0:
        upper = lower + (1 - lower) * random.beta(1, size - below - 1, count)
        above = run[np.minimum((upper * size).astype(int), size - 1)]
        picked = picked + share * (above - picked)
    quantiles: Values = picked
    return quantiles
