"""What a verdict rests on, in the unit of its margin: a loss, its bounds, its p-value."""

import math
from dataclasses import dataclass
from typing import Protocol

from gauntlet.analyzer.comparison.effects import Effect
from gauntlet.analyzer.stats import more_failures

# A change of a value by more than this factor is shown as this factor.
_LARGEST_LOG = math.log(1e4)
# Chance with which the loss called detectable is found.
POWER = 0.9


class Evidence(Protocol):
    """An estimated loss: positive where the candidate is worse, in the unit of the margin."""

    @property
    def loss(self) -> float:
        """The estimate."""

    @property
    def n(self) -> int:
        """How many of ``what`` were compared."""

    @property
    def what(self) -> str:
        """What ``n`` counts."""

    @property
    def method(self) -> str:
        """How it was estimated."""

    @property
    def p_value(self) -> float:
        """One-sided p-value of "there is no loss"."""

    @property
    def interleaved(self) -> bool:
        """Whether measuring more of the same makes it surer."""

    def decidable(self, margin: float, level: float) -> bool:
        """Whether more repetitions of the same sessions could show that any loss is below it."""

    def bounds(self, level: float) -> tuple[float, float] | None:
        """Lower and upper bound, each with this one-sided level; None where none can be given."""

    def detectable(self, level: float) -> float | None:
        """The loss that such data call worse nine times in ten; None where they show none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioEvidence:
    """A change of a metric, in percent of the baseline."""

    effect: Effect
    higher_is_better: bool

    @property
    def loss(self) -> float:
        """The estimated loss."""
        return self._percent(self._log_loss)

    @property
    def n(self) -> int:
        """How many were compared."""
        return self.effect.n

    @property
    def what(self) -> str:
        """What was counted."""
        return self.effect.what

    @property
    def method(self) -> str:
        """How it was estimated."""
        return self.effect.method

    @property
    def interleaved(self) -> bool:
        """Whether the sides took turns."""
        return self.effect.interleaved

    @property
    def p_value(self) -> float:
        """One-sided p-value of "there is no loss"."""
        return self.effect.p_value(self._sign)

    @property
    def _sign(self) -> float:
        return -1.0 if self.higher_is_better else 1.0

    @property
    def _log_loss(self) -> float:
        return self._sign * self.effect.log_ratio

    def decidable(self, margin: float, level: float) -> bool:
        """Whether the noise between sessions alone leaves room below the margin."""
        return self._percent(self.effect.floor(level)) < margin

    def bounds(self, level: float) -> tuple[float, float] | None:
        """Lower and upper bound, each with this one-sided level."""
        if self.effect.error is None:
            return None
        reach = self.effect.reach(level)
        return self._percent(self._log_loss - reach), self._percent(self._log_loss + reach)

    def detectable(self, level: float) -> float | None:
        """The loss that such data call worse nine times in ten."""
        reach = self.effect.reach(level) + self.effect.reach(1 - POWER)
        return self._percent(reach) if reach < _LARGEST_LOG else None

    def _percent(self, log_loss: float) -> float:
        """A loss of a rate is how far it falls, one of a latency how far it rises."""
        kept = min(max(log_loss, -_LARGEST_LOG), _LARGEST_LOG)
        return 100 * self._sign * math.expm1(self._sign * kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailuresEvidence:
    """Failed requests of both sides as (failed, all), in percentage points.

    A count of failures has no repeated measurement around it: the difference stands as it is, and
    only a rise that chance does not explain is a verdict against the candidate.
    """

    baseline: tuple[int, int]
    candidate: tuple[int, int]
    what: str = "requests"
    method: str = "difference of shares; Fisher's exact test"
    interleaved: bool = True

    def decidable(self, margin: float, level: float) -> bool:
        """More requests always tell more."""
        del margin, level
        return True

    @property
    def n(self) -> int:
        """How many were compared."""
        return self.baseline[1] + self.candidate[1]

    @property
    def loss(self) -> float:
        """The estimated loss."""
        (failed, asked), (others, of) = self.candidate, self.baseline
        return 100 * (failed / asked - others / of)

    @property
    def p_value(self) -> float:
        """One-sided p-value of "there is no loss"."""
        return more_failures(self.candidate, self.baseline)

    def bounds(self, level: float) -> tuple[float, float] | None:
        """Lower and upper bound, each with this one-sided level."""
        del level
        return self.loss, self.loss

    def detectable(self, level: float) -> float | None:
        """The share that chance does not bring where the baseline never fails."""
        if level <= 0:
            return None
        total = self.candidate[1]
        for failed in range(1, total + 1):
            if more_failures((failed, total), (0, self.baseline[1])) < level:
                return 100 * failed / total
        return None
