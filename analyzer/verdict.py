"""The verdict: one claim with its numbers, its method and its reason."""

from dataclasses import dataclass
from typing import Literal, TypedDict

Outcome = Literal["better", "same", "worse", "inconclusive", "config-changed", "invalid", "missing"]
Unit = Literal["%", "points"]


class PlainVerdict(TypedDict):
    """A verdict as JSON; ``interval`` is [lower, upper], None where nothing was estimated."""

    subject: str
    verdict: Outcome
    blocking: bool
    reason: str
    effect: float | None
    interval: tuple[float, float] | None
    unit: Unit
    margin: float
    n: int
    method: str
    p_value: float | None
    adjusted_p: float | None
    detectable: float | None
    baseline: float | None
    candidate: float | None
    value_unit: str
    higher_is_better: bool
    demoted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The decision on one objective.

    ``effect`` with ``lower`` and ``upper`` is the change as people read it: candidate against
    baseline, in ``unit``, positive where the value rose. ``margin`` and ``detectable`` (the loss
    that these data would have called worse in nine of ten cases) are sizes, in ``unit``.
    ``baseline`` and ``candidate`` are typical values in ``value_unit``; ``n`` counts what was
    compared (pairs, questions, requests) and ``method`` says how. ``p_value`` is that of a loss,
    over all looks; ``adjusted_p`` as well over all that block in this comparison. ``demoted``: it
    would block, but nothing that these sides can measure decides it, so it informs.
    """

    subject: str
    outcome: Outcome
    blocking: bool
    reason: str
    margin: float
    unit: Unit
    effect: float | None = None
    lower: float | None = None
    upper: float | None = None
    p_value: float | None = None
    adjusted_p: float | None = None
    detectable: float | None = None
    n: int = 0
    method: str = ""
    baseline: float | None = None
    candidate: float | None = None
    value_unit: str = ""
    higher_is_better: bool = False
    demoted: bool = False

    def plain(self) -> PlainVerdict:
        """As JSON: what ``--json`` prints and what a decision keeps as its evidence."""
        interval = None
        if self.lower is not None and self.upper is not None:
            interval = (self.lower, self.upper)
        return PlainVerdict(
            subject=self.subject,
            verdict=self.outcome,
            blocking=self.blocking,
            reason=self.reason,
            effect=self.effect,
            interval=interval,
            unit=self.unit,
            margin=self.margin,
            n=self.n,
            method=self.method,
            p_value=self.p_value,
            adjusted_p=self.adjusted_p,
            detectable=self.detectable,
            baseline=self.baseline,
            candidate=self.candidate,
            value_unit=self.value_unit,
            higher_is_better=self.higher_is_better,
            demoted=self.demoted,
        )


def by_equivalence(
    *, loss: float, upper: float, margin: float, loss_shown: bool, gain_shown: bool
) -> Outcome:
    """Decide by the rule of docs/significance.md; ``same`` comes first.

    ``upper`` is the upper bound of the loss, ``loss_shown`` and ``gain_shown`` whether chance does
    not explain a loss or a gain.
    """
    if upper < margin:
        return "better" if gain_shown and loss <= -margin else "same"
    return "worse" if loss_shown and loss >= margin / 2 else "inconclusive"


_METRIC_LABELS = {
    "ttft_ms": "TTFT",
    "tpot_ms": "TPOT",
    "itl_ms": "ITL",
    "e2e_ms": "E2EL",
    "output_tokens_per_s": "tokens/s",
}


def objective_label(subject: str) -> str:
    """A subject as people read it: ``load/random/tpot_ms/p50`` is ``random TPOT p50``."""
    kind, _, rest = subject.partition("/")
    if kind == "summary":
        rest = f"all points/{rest}"
    parts = [_METRIC_LABELS.get(part, part) for part in rest.split("/") if part != "total"]
    return " ".join([*parts, "requests"] if kind == "requests" else parts)
