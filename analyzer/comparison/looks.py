"""Group-sequential levels: how sure one must be at each look, so that all looks share one error.

One-sided bounds with the spending function of O'Brien and Fleming's type (Lan and DeMets,
Biometrika 70, 1983, doi:10.1093/biomet/70.3.659), by recursive numerical integration over the
increments of a Brownian motion (Armitage, McPherson and Rowe, JRSS A 132, 1969,
doi:10.2307/2343787). Student's t values are judged at the nominal level of the look, as in
Jennison and Turnbull's *Group Sequential Methods* (2000), section 3.8.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import optimize, special
from scipy.interpolate import PchipInterpolator

Values = npt.NDArray[np.float64]

# Nodes of the integration over one look: steps of a twentieth of the data are still resolved.
_NODES = 256
# Paths further below the bound than this many standard deviations do not come back.
_DEEPEST = 9.0
# Normal quantiles of the errors at which levels are computed; between them they are smooth.
_QUANTILES = (0.05, 0.3, 0.6, *(1.0 + 0.5 * step for step in range(15)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The chance of a false alarm, and how much of the data each look up to this one had.

    ``shares`` are information fractions in (0, 1], rising, the last one that of the present look.
    Raises ValueError for anything else.
    """

    false_alarm_rate: float = 0.01
    shares: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        """Refuse what no plan of looks can be."""
        if not 0 < self.false_alarm_rate < 0.5:
            msg = f"false_alarm_rate must lie in 0..0.5, got {self.false_alarm_rate}"
            raise ValueError(msg)
        rising = all(a < b for a, b in pairwise((0.0, *self.shares)))
        if not self.shares or not rising or self.shares[-1] > 1:
            msg = f"shares must rise within (0, 1], got {self.shares}"
            raise ValueError(msg)

    def level(self, error: float | None = None) -> float:
        """One-sided level of this look where all looks together may err with ``error``.

        None: with the whole false alarm rate.
        """
        return nominal_level(self.false_alarm_rate if error is None else error, self.shares)

    def overall(self, p_value: float) -> float:
        """The smallest error, over all looks, at which ``p_value`` counts at this look.

        Jennison and Turnbull's repeated p-value, taken over all looks up to this one by its own
        merit only; compared with any error it decides exactly as :meth:`level` does.
        """
        if not 0 < p_value < 1:
            return min(max(p_value, 0.0), 1.0)
        if self.shares == (1.0,):
            return p_value
        if len(self.shares) == 1:
            return _error_at(-math.sqrt(self.shares[0]) * float(special.ndtri(p_value / 2)))
        scale = _scale(self.shares)
        quantile = -float(special.ndtri(p_value))
        if quantile <= scale.x[0]:
            return 1.0
        return _error_at(float(scale(min(quantile, scale.x[-1]))))


def spent(error: float, share: float) -> float:
    """How much of ``error`` may be spent when ``share`` of the data is there."""
    return 2 * _tail(-float(special.ndtri(error / 2)) / math.sqrt(share))


def nominal_level(error: float, shares: Sequence[float]) -> float:
    """One-sided level of the last of these looks, given that none before it was crossed."""
    return _levels(error, tuple(shares))[-1]


def nominal_levels(error: float, shares: Sequence[float]) -> tuple[float, ...]:
    """One-sided level of every look."""
    return _levels(error, tuple(shares))


def _tail(quantile: float) -> float:
    return float(special.ndtr(-quantile))


def _error_at(quantile: float) -> float:
    return min(1.0, 2 * _tail(quantile))


@lru_cache(maxsize=4096)
def _levels(error: float, shares: tuple[float, ...]) -> tuple[float, ...]:
    """Walk through the looks; the density of paths below all bounds so far is carried along."""
    first = spent(error, shares[0])
    bound = _bound_of(first)
    levels = [first]
    nodes, weights = _grid(bound, shares[0])
    density = weights * _normal(nodes, shares[0])
    for before, share in pairwise(shares):
        step = math.sqrt(share - before)
        wanted = spent(error, share) - spent(error, before)
        bound = _crossed_by(wanted, nodes, density, step=step, share=share)
        levels.append(_tail(bound))
        following, weights = _grid(bound, share)
        kernel = _normal((following[:, None] - nodes[None, :]), step * step)
        nodes, density = following, weights * (kernel @ density)
    return tuple(levels)


def _bound_of(level: float) -> float:
    return -float(special.ndtri(level)) if level > 0 else math.inf


def _normal(values: Values, variance: float) -> Values:
    scaled: Values = np.exp(-values * values / (2 * variance)) / math.sqrt(2 * math.pi * variance)
    return scaled


@lru_cache(maxsize=1)
def _unit_nodes() -> tuple[Values, Values]:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return nodes, weights


def _grid(bound: float, share: float) -> tuple[Values, Values]:
    """Nodes and weights over the paths that go on: from far below up to the bound."""
    scale = math.sqrt(share)
    low, high = -_DEEPEST * scale, min(bound, _DEEPEST) * scale
    nodes, weights = _unit_nodes()
    half = (high - low) / 2
    return low + half * (nodes + 1), half * weights


def _crossed_by(
    wanted: float, nodes: Values, density: Values, *, step: float, share: float
) -> float:
    """The bound, in standard deviations, that just ``wanted`` of all paths cross first here."""
    scale = math.sqrt(share)

    def surplus(bound: float) -> float:
        beyond = special.ndtr((nodes - bound * scale) / step)
        return math.log(max(float(density @ beyond), 1e-320)) - math.log(wanted)

    if wanted <= 0 or surplus(-_DEEPEST) <= 0:
        return math.inf if wanted <= 0 else -_DEEPEST
    return float(optimize.brentq(surplus, -_DEEPEST, 38.0, xtol=1e-10))


@lru_cache(maxsize=64)
def _scale(shares: tuple[float, ...]) -> PchipInterpolator:
    """From quantiles of the last look's level to those of the errors that they belong to."""
    found = [
        (_bound_of(nominal_level(_error_at(quantile), shares)), quantile) for quantile in _QUANTILES
    ]
    kept = [pair for pair in found if math.isfinite(pair[0])]
    return PchipInterpolator([level for level, _ in kept], [quantile for _, quantile in kept])
