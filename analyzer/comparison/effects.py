"""How large a change is, and how sure: effects on logarithms, from values of whole repetitions.

The run is the unit: requests of one run share its clocks and its neighbours. Interleaved turns
give an effect whose error comes from their own residuals; sides of different sessions carry the
noise between sessions, which has to come from elsewhere.

**Levels per block, unless pairs differ.** The effect is the mean difference of the pairs in any
model; models differ in what they take for noise. After a level per pair, 2k - 1 degrees of freedom
are left in k blocks; after a level per block, 3k - 1, but then whatever the prompts of one pair
add to both its turns counts as noise. So pairs get a level each only where their means differ, by
an F test at 1 %, more than their turns do. Measured with 200,000 made sessions each (the last
column of drift and lognormal: 30,000), runs with a coefficient of variation of 1.5 %, nominal 1 %
one-sided:

==============================  ==========  ==========  ==========
false alarms, 8 (2) blocks      per pair    per block   this
==============================  ==========  ==========  ==========
independent normal noise        1.0 (1.0)   1.0 (1.0)   1.1 (1.2)
pair effects of 1.5 %           1.0 (1.0)   0.2 (0.4)   0.7 (0.8)
pair effects of 3 %             1.0 (1.0)   0.0 (0.1)   1.0 (0.9)
AR(1), 0.3                      1.6 (1.3)   1.1 (1.0)   1.3 (1.3)
AR(1), 0.5                      1.6 (1.3)   0.9 (0.9)   1.2 (1.3)
random walk, 0.75 % a turn      1.0 (1.0)   0.8 (0.9)   0.9 (1.1)
linear drift of 4 %             1.0 (0.9)   0.9 (0.6)   1.0 (1.0)
Student's t with 3 degrees      0.8 (0.7)   0.8 (0.7)   0.9 (0.8)
lognormal                       0.5 (0.4)   0.5 (0.5)   0.7 (0.6)
==============================  ==========  ==========  ==========

A loss of 3 % at level 0.0005 (one of 20 metrics) is seen in 8 blocks with 0.90, 0.95 and 0.95, with
pair effects of 1.5 % 0.90, 0.72 and 0.83, of 3 % 0.90, 0.19 and 0.87. A choice between two tests
that both keep their level can at most double it. A common slope within blocks gained nothing
(0.94, and a degree of freedom less): A B B A cancels it already.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from gauntlet.analyzer.measured import Measured, Statistic

Values = npt.NDArray[np.float64]

# Pairs get levels of their own where equal ones differ as much only once in a hundred times.
_PAIRS_DIFFER = 0.01
# Values that repeat to the last digit were rounded: no error is taken to be below 0.01 %.
LEAST_ERROR = 1e-4


class PairKey(NamedTuple):
    """A pair of turns: its session, and its number there. Pairs 2j and 2j + 1 are block j."""

    session: str
    pair: int


class Turns(NamedTuple):
    """Logarithms of the two values of a pair."""

    baseline: float
    candidate: float


class Part(NamedTuple):
    """One part of a variance, with its degrees of freedom (inf: known)."""

    variance: float
    df: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Standard deviation of one session's log value; ``df`` inf where it is assumed, not seen."""

    sd: float
    df: float = math.inf
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """The change of the logarithm from baseline to candidate, and its standard error.

    ``error`` is None where nothing shows the spread. ``n`` counts ``what`` was compared;
    ``interleaved`` says whether more of it would make the error smaller. ``baseline`` and
    ``candidate`` are typical values in the unit of the metric.
    """

    log_ratio: float
    error: float | None
    df: float
    n: int
    what: str
    method: str
    interleaved: bool
    baseline: float
    candidate: float
    session_error: float = 0.0

    def floor(self, level: float) -> float:
        """What :meth:`reach` cannot fall below however often each session repeats."""
        if level <= 0:
            return math.inf
        return abs(float(special.ndtri(level))) * self.session_error

    def p_value(self, sign: float) -> float:
        """One-sided p-value of "no change towards ``sign``"; 1 where nothing shows the spread."""
        if self.error is None:
            return 1.0
        return float(special.stdtr(self.df, -sign * self.log_ratio / self.error))

    def reach(self, level: float) -> float:
        """Distance from the effect to its bound at a level below one half; inf without one."""
        if self.error is None or level <= 0:
            return math.inf
        return abs(float(special.stdtrit(self.df, level))) * self.error


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparateSides:
    """Values of two sides that were not interleaved, and the noise between their sessions.

    ``sessions`` counts the sessions behind each side. Raises ValueError for a side without values.
    """

    baseline: Sequence[float]
    candidate: Sequence[float]
    noise: Noise
    sessions: tuple[int, int] = (1, 1)

    def __post_init__(self) -> None:
        """Refuse an empty side."""
        if not self.baseline or not self.candidate:
            msg = "an effect needs at least one value on each side"
            raise ValueError(msg)

    @property
    def _logs(self) -> tuple[Values, Values]:
        return np.log(np.asarray(self.baseline)), np.log(np.asarray(self.candidate))

    @property
    def log_ratio(self) -> float:
        """Difference of the sides' mean logs."""
        baseline, candidate = self._logs
        return float(candidate.mean() - baseline.mean())

    @property
    def of_sessions(self) -> Part:
        """Variance that the sessions bring into the effect."""
        return Part(self.noise.sd**2 * sum(1 / count for count in self.sessions), self.noise.df)

    @property
    def of_repetitions(self) -> Part | None:
        """Variance that repetitions bring into it; None where each side has only one."""
        logs = self._logs
        df = sum(len(side) for side in logs) - 2
        if df < 1:
            return None
        pooled = sum(float(((side - side.mean()) ** 2).sum()) for side in logs) / df
        return Part(pooled * sum(1 / len(side) for side in logs), float(df))

    def effect(self, log_ratio: float, parts: Sequence[Part], of_sessions: float) -> Effect:
        """The effect with the error that these parts of its variance add up to.

        ``of_sessions`` is the variance that the sessions bring into it.
        """
        df = combined_df(parts)
        counts = f"{len(self.baseline)} and {len(self.candidate)}"
        shown = "normal" if math.isinf(df) else f"Student's t, {df:.0f} degrees of freedom"
        return Effect(
            log_ratio=log_ratio,
            error=max(math.sqrt(math.fsum(part.variance for part in parts)), LEAST_ERROR),
            df=df,
            n=len(self.baseline) + len(self.candidate),
            what="repetitions",
            method=(
                f"difference of mean logs of {counts} repetitions that were not interleaved; "
                f"noise of a session {100 * self.noise.sd:.2g} % ({self.noise.source}); {shown}"
            ),
            interleaved=False,
            baseline=float(np.median(self.baseline)),
            candidate=float(np.median(self.candidate)),
            session_error=math.sqrt(of_sessions),
        )


def usable(value: float | None) -> bool:
    """Whether a value has a logarithm: there, finite and above zero."""
    return value is not None and math.isfinite(value) and value > 0


def turns_of(measured: Iterable[Measured], statistic: Statistic) -> dict[PairKey, Turns]:
    """Complete pairs of interleaved turns; a turn that was repeated counts with its mean."""
    found: dict[PairKey, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for each in measured:
        value = each.values.get(statistic)
        if each.session and value is not None and usable(value):
            found[PairKey(each.session, each.pair)][each.side].append(math.log(value))
    return {
        key: Turns(fmean(sides["baseline"]), fmean(sides["candidate"]))
        for key, sides in sorted(found.items())
        if sides["baseline"] and sides["candidate"]
    }


def interleaved_effect(pairs: Mapping[PairKey, Turns]) -> Effect:
    """Estimate the effect from pairs of interleaved turns; at least one, two for an error.

    Raises ValueError without a pair.
    """
    if not pairs:
        msg = "an effect needs at least one pair"
        raise ValueError(msg)
    n = len(pairs)
    effect = math.fsum(turns.candidate - turns.baseline for turns in pairs.values()) / n
    blocks = _blocks(pairs)
    error, df, levels = None, 0.0, "one pair shows no spread"
    if n > 1:
        variance, df, levels = _turn_variance(pairs, blocks)
        error = max(math.sqrt(2 * variance / n), LEAST_ERROR)
    of_blocks = f", {_counted(len(blocks), 'block')} A B B A" if blocks else ""
    test = f"; Student's t, {df:.0f} degrees of freedom" if error is not None else ""
    return Effect(
        log_ratio=effect,
        error=error,
        df=df,
        n=n,
        what="pairs",
        method=f"mean log ratio of {_counted(n, 'pair')}{of_blocks}; {levels}{test}",
        interleaved=True,
        baseline=math.exp(median(turns.baseline for turns in pairs.values())),
        candidate=math.exp(median(turns.candidate for turns in pairs.values())),
    )


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _blocks(pairs: Mapping[PairKey, Turns]) -> list[tuple[PairKey, PairKey]]:
    """Complete blocks among the pairs."""
    first = [key for key in sorted(pairs) if key.pair % 2 == 0]
    both = [(key, PairKey(key.session, key.pair + 1)) for key in first]
    return [(one, two) for one, two in both if two in pairs]


def _turn_variance(
    pairs: Mapping[PairKey, Turns], blocks: Sequence[tuple[PairKey, PairKey]]
) -> tuple[float, float, str]:
    """Variance of a turn's log value, with its degrees of freedom and how it was found.

    The two models are nested: what levels per block add to the residuals of levels per pair is,
    per block, the squared difference of its pairs' means.
    """
    differences = [turns.candidate - turns.baseline for turns in pairs.values()]
    df = len(differences) - 1
    mean = math.fsum(differences) / len(differences)
    within = math.fsum((difference - mean) ** 2 for difference in differences) / 2
    means = {key: (turns.baseline + turns.candidate) / 2 for key, turns in pairs.items()}
    between = math.fsum((means[one] - means[two]) ** 2 for one, two in blocks)
    k = len(blocks)
    if k and not _differ(between / k, k, within / df, df):
        return (within + between) / (df + k), df + k, "a level per block"
    return within / df, df, "a level per pair"


def _differ(between: float, k: int, within: float, df: int) -> bool:
    if within <= 0:
        return between > 0
    return float(special.fdtrc(k, df, between / within)) < _PAIRS_DIFFER


def separate_effect(sides: SeparateSides) -> Effect:
    """Estimate the effect from sides that were not interleaved.

    Degrees of freedom by Satterthwaite (Biometrics Bulletin 2, 1946).
    """
    parts = [part for part in (sides.of_sessions, sides.of_repetitions) if part is not None]
    return sides.effect(sides.log_ratio, parts, sides.of_sessions.variance)


def combined_df(parts: Sequence[Part]) -> float:
    """Degrees of freedom of a sum of parts; inf where all are known."""
    total = math.fsum(part.variance for part in parts)
    denominator = math.fsum(part.variance**2 / part.df for part in parts)
    return total**2 / denominator if denominator > 0 else math.inf
