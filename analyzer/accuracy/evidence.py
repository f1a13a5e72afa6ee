"""Paired answers as evidence that verdicts of every kind are decided by."""

from dataclasses import dataclass

from gauntlet.analyzer.accuracy.paired import Drop, detectable_drop, estimate
from gauntlet.analyzer.comparison.evidence import POWER

_ANY_LEVEL = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswersEvidence:
    """Answers to the same questions, in percentage points.

    ``drops`` are the differences of scores, positive where the candidate lost; ``clusters`` name
    the question of each: one that was asked again, in another pair or by repeats, is one question.
    """

    drops: tuple[float, ...]
    clusters: tuple[str, ...]
    interleaved: bool = True

    def _at(self, level: float) -> Drop:
        return estimate(self.drops, self.clusters, level)

    @property
    def n(self) -> int:
        """How many answers were compared."""
        return len(self.drops)

    @property
    def what(self) -> str:
        """What was counted."""
        return "questions" if len(set(self.clusters)) == self.n else "answers"

    @property
    def method(self) -> str:
        """How it was estimated."""
        return self._at(_ANY_LEVEL).method

    @property
    def loss(self) -> float:
        """The estimated loss."""
        return 100 * self._at(_ANY_LEVEL).effect

    @property
    def p_value(self) -> float:
        """One-sided p-value of "there is no loss"."""
        return self._at(_ANY_LEVEL).p_drop

    def decidable(self, margin: float, level: float) -> bool:
        """More questions always tell more."""
        del margin, level
        return True

    def bounds(self, level: float) -> tuple[float, float] | None:
        """Lower and upper bound, each with this one-sided level."""
        found = self._at(level)
        return 100 * found.lower, 100 * found.upper

    def detectable(self, level: float) -> float | None:
        """The loss that such answers call worse nine times in ten."""
        share = detectable_drop(self._at(level), level, POWER)
        return 100 * share if share < 1 else None
