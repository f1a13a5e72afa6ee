"""Categories paired each by itself, then weighted: BFCL, MMLU's subjects."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scipy import stats

from gauntlet.analyzer.accuracy.paired import Drop, by_stratum, estimate_drop
from gauntlet.analyzer.accuracy.pairing import Pair
from gauntlet.analyzer.stats import paired_share
from gauntlet.core.errors import UsageError, unknown_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Stratum:
    """One category with its weight and its own drop."""

    name: str
    weight: float
    drop: Drop


def estimate_strata(
    pairs: Sequence[Pair], alpha: float, weights: str | Mapping[str, float]
) -> tuple[Drop, tuple[Stratum, ...]]:
    """Estimate the weighted drop ``sum w_k drop_k`` over categories, and each category's own.

    ``weights`` is ``size`` (each question counts alike), ``equal`` (each category does), or a
    number for each category. Limits are combined, not errors: ``upper = drop + sqrt(sum w_k^2
    (upper_k - drop_k)^2)`` and the same below (Zou and Donner, Statistics in Medicine 27, 2008).
    For large categories that is SE^2 = sum w_k^2 SE_k^2, and one without a differing answer still
    adds its uncertainty. Raises UsageError for answers without categories, and for weights that
    do not fit.
    """
    groups = by_stratum(pairs)
    if set(groups) == {""}:
        raise UsageError(
            "these answers have no categories to weigh",
            hint="leave --strata out, or give a folder with several tasks",
        )
    shares = _shares({name: len(group) for name, group in groups.items()}, weights)
    strata = tuple(
        Stratum(name=name, weight=shares[name], drop=estimate_drop(group, alpha))
        for name, group in groups.items()
    )
    effect = sum(each.weight * each.drop.effect for each in strata)
    above = sum((each.weight * (each.drop.upper - each.drop.effect)) ** 2 for each in strata)
    below = sum((each.weight * (each.drop.effect - each.drop.lower)) ** 2 for each in strata)
    error = math.sqrt(sum((each.weight * each.drop.error) ** 2 for each in strata))
    p_drop, p_gain, test = _p_values(strata, by_size=weights == "size")
    total = Drop(
        effect=effect,
        lower=max(-1.0, effect - math.sqrt(below)),
        upper=min(1.0, effect + math.sqrt(above)),
        error=error,
        p_drop=p_drop,
        p_gain=p_gain,
        n=sum(each.drop.n for each in strata),
        units=sum(each.drop.units for each in strata),
        losses=sum(each.drop.losses for each in strata),
        gains=sum(each.drop.gains for each in strata),
        method=f"{len(strata)} categories, each paired by itself; {test}",
    )
    return total, strata


def _shares(sizes: Mapping[str, int], weights: str | Mapping[str, float]) -> dict[str, float]:
    if weights == "size":
        given: Mapping[str, float] = sizes
    elif weights == "equal":
        given = dict.fromkeys(sizes, 1.0)
    elif isinstance(weights, str):
        raise unknown_name("weights of categories", weights, ["size", "equal"])
    else:
        given = weights
    missing = [name for name in sizes if name not in given]
    total = sum(given[name] for name in sizes if name in given)
    if missing or total <= 0 or any(given[name] < 0 for name in sizes):
        said = f"none for {', '.join(missing)}" if missing else "they must be above 0"
        raise UsageError(f"weights of categories: {said}")
    return {name: given[name] / total for name in sizes}


def _p_values(strata: Sequence[Stratum], *, by_size: bool) -> tuple[float, float, str]:
    """Exact where weights go by size: losses of all categories are then counted alike.

    Otherwise the score statistic, with the variance that an unchanged build has.
    """
    independent = all(each.drop.binary for each in strata)
    losses = sum(each.drop.losses for each in strata)
    gains = sum(each.drop.gains for each in strata)
    n = sum(each.drop.n for each in strata)
    if by_size and independent:
        p_drop = paired_share(losses, gains, n, 0.05).p_value
        return p_drop, paired_share(gains, losses, n, 0.05).p_value, "exact sign test"
    variance = sum(
        each.weight**2
        * (
            (each.drop.losses + each.drop.gains) / each.drop.n**2
            if independent
            else each.drop.error**2
        )
        for each in strata
    )
    effect = sum(each.weight * each.drop.effect for each in strata)
    if variance == 0 or not math.isfinite(variance):
        return 1.0, 1.0, "score test"
    p_drop = float(stats.norm.sf(effect / math.sqrt(variance)))
    return p_drop, 1 - p_drop, "score test"
