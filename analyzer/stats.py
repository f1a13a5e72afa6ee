"""The statistics behind a verdict: pure functions on sequences.

The unit of replication is the run, not the request. Shares and counts are here, effects of
metrics in ``comparison.effects``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize, stats


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """An effect, its two-sided interval, and the p-value of "the effect is not above 0"."""

    effect: float
    lower: float
    upper: float
    p_value: float
    n: int


def paired_share(losses: int, gains: int, n: int, alpha: float) -> Estimate:
    """Estimate the drop of a share from paired right/wrong answers; ``alpha`` on each side.

    ``losses``: questions that only the baseline got right, ``gains``: only the candidate, of
    ``n`` asked. The effect is (losses - gains) / n. The interval is Tango's score interval
    (Statistics in Medicine 17, 1998), which keeps its level where few answers differ or none;
    the p-value is McNemar's exact one.

    Raises ValueError for impossible counts.
    """
    if n < 1 or losses < 0 or gains < 0 or losses + gains > n:
        msg = f"impossible counts: {losses} losses, {gains} gains, {n} asked"
        raise ValueError(msg)
    effect = (losses - gains) / n
    z = float(stats.norm.ppf(1 - alpha))

    def above(delta: float) -> float:
        return _tango_score(losses, gains, n, delta) - z

    def below(delta: float) -> float:
        return _tango_score(losses, gains, n, delta) + z

    edge = 1 - 1e-9
    lower = -1.0 if above(-edge) <= 0 else float(optimize.brentq(above, -edge, effect))
    upper = 1.0 if below(edge) >= 0 else float(optimize.brentq(below, effect, edge))
    differing = losses + gains
    p_value = float(stats.binom.sf(losses - 1, differing, 0.5)) if differing else 1.0
    return Estimate(effect=effect, lower=lower, upper=upper, p_value=p_value, n=n)


def _tango_score(losses: int, gains: int, n: int, delta: float) -> float:
    """Score statistic of "the drop is ``delta``"; its variance at the restricted estimate."""
    a = 2.0 * n
    b = -losses - gains + (2 * n - losses + gains) * delta
    c = -gains * delta * (1 - delta)
    root = max(0.0, b * b - 4 * a * c)
    share = (math.sqrt(root) - b) / (2 * a)
    variance = n * (2 * share + delta * (1 - delta))
    numerator = losses - gains - n * delta
    if variance <= 0:
        return 0.0 if numerator == 0 else math.copysign(math.inf, numerator)
    return numerator / math.sqrt(variance)


def more_failures(candidate: tuple[int, int], baseline: tuple[int, int]) -> float:
    """Fisher's exact one-sided p-value that the candidate fails no more often.

    Each side is (failed, total).
    """
    table = np.array([[failed, total - failed] for failed, total in (candidate, baseline)])
    return float(stats.fisher_exact(table, alternative="greater").pvalue)


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values so that a share of the alarms is false (1995); the order is kept."""
    count = len(p_values)
    order = sorted(range(count), key=lambda index: p_values[index], reverse=True)
    adjusted = [0.0] * count
    running = 1.0
    for above, index in enumerate(order):
        running = min(running, p_values[index] * count / (count - above))
        adjusted[index] = running
    return adjusted
