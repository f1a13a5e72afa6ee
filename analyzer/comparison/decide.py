"""Verdicts by equivalence: same, worse, better or inconclusive, each with its reason.

With the margin m: ``same`` where any loss is surely below m; ``worse`` where there surely is one,
at a level shared by everything that blocks (Holm), and it is at least m/2; ``better`` where,
beyond ``same``, there surely is a gain and it is at least m. All of it holds over all looks
together. docs/significance.md has the why.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gauntlet.analyzer.comparison.evidence import Evidence
from gauntlet.analyzer.comparison.looks import Budget
from gauntlet.analyzer.stats import benjamini_hochberg
from gauntlet.analyzer.verdict import Outcome, Unit, Verdict, by_equivalence
from gauntlet.core.multiplicity import holm

Unusable = Literal["config-changed", "invalid", "missing"]

# What one needs at most is worth saying; beyond it more of the same is no advice.
_MOST_BLOCKS_ADVISED = 64
_PAIRS_A_BLOCK = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One objective with what was found; ``evidence`` is None where nothing could be estimated.

    Losses and margin are in ``unit``. ``baseline`` and ``candidate`` are typical values in
    ``value_unit``, for people.
    """

    subject: str
    blocking: bool
    margin: float
    unit: Unit
    evidence: Evidence | None = None
    baseline: float | None = None
    candidate: float | None = None
    value_unit: str = ""
    higher_is_better: bool = False
    unusable: Unusable = "missing"
    why_unusable: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    """What one objective is judged by: its adjusted p-value and the levels of its bounds."""

    adjusted_p: float
    shared_by: int
    error: float
    level: float
    worst_level: float


def decide(findings: Sequence[Finding], budget: Budget) -> list[Verdict]:
    """Decide every objective; the false alarm rate holds for all that block, over all looks."""
    overall = {
        index: budget.overall(finding.evidence.p_value)
        for index, finding in enumerate(findings)
        if finding.evidence is not None
    }
    adjusted: dict[int, tuple[float, int]] = {}
    # What only informs stops nobody, so it is judged beside the others of its kind, not with them.
    for blocks, adjust in ((True, holm), (False, benjamini_hochberg)):
        kind = [index for index in overall if findings[index].blocking is blocks]
        p_values = adjust([overall[index] for index in kind])
        adjusted |= {i: (p, len(kind)) for i, p in zip(kind, p_values, strict=True)}
    return [
        _decide_one(finding, overall.get(index), adjusted.get(index), budget)
        for index, finding in enumerate(findings)
    ]


def _decide_one(
    finding: Finding, p_value: float | None, adjusted: tuple[float, int] | None, budget: Budget
) -> Verdict:
    blank = Verdict(
        subject=finding.subject,
        outcome=finding.unusable,
        blocking=finding.blocking,
        reason=finding.why_unusable,
        margin=finding.margin,
        unit=finding.unit,
        baseline=finding.baseline,
        candidate=finding.candidate,
        value_unit=finding.value_unit,
        higher_is_better=finding.higher_is_better,
    )
    evidence = finding.evidence
    if evidence is None or adjusted is None:
        return blank
    adjusted_p, family = adjusted
    judged = _Judged(
        adjusted_p=adjusted_p,
        shared_by=family,
        error=budget.false_alarm_rate,
        level=budget.level(),
        worst_level=budget.level(budget.false_alarm_rate / family),
    )
    bounds = evidence.bounds(judged.level)
    sign = -1.0 if finding.higher_is_better else 1.0
    verdict = replace(
        blank,
        outcome=_outcome(evidence, bounds, finding.margin, judged),
        effect=sign * evidence.loss + 0.0,  # no minus before zero
        p_value=p_value,
        adjusted_p=adjusted_p,
        detectable=evidence.detectable(judged.worst_level),
        n=evidence.n,
        method=evidence.method,
    )
    if verdict.outcome == "inconclusive" and not evidence.decidable(finding.margin, judged.level):
        # Nobody can wait for it: it informs, and its reason says how it could be judged.
        verdict = replace(verdict, blocking=False, demoted=verdict.blocking)
    if bounds is not None:
        low, high = sorted(sign * bound + 0.0 for bound in bounds)
        verdict = replace(verdict, lower=low, upper=high)
    return replace(verdict, reason=_reason(verdict, evidence, judged))


def _outcome(
    evidence: Evidence, bounds: tuple[float, float] | None, margin: float, judged: _Judged
) -> Outcome:
    if bounds is None:
        return "inconclusive"
    _, upper = bounds
    return by_equivalence(
        loss=evidence.loss,
        upper=upper,
        margin=margin,
        loss_shown=judged.adjusted_p < judged.error,
        gain_shown=upper < 0,
    )


def _reason(verdict: Verdict, evidence: Evidence, judged: _Judged) -> str:
    unit, digits = verdict.unit, 2 if verdict.unit == "points" else 1
    measured = f"{verdict.effect:+.{digits}f} {unit}"
    if verdict.lower is not None and verdict.lower != verdict.upper:
        measured += f" [{verdict.lower:+.{digits}f}, {verdict.upper:+.{digits}f}]"
    measured += f" over {verdict.n} {evidence.what}"
    limit = _amount(verdict.margin, unit)
    match verdict.outcome:
        case "worse":
            shared = f", shared by {judged.shared_by} objectives" if judged.shared_by > 1 else ""
            least = "the margin" if evidence.loss >= verdict.margin else "half of the margin"
            p_text = _p_text(judged.adjusted_p)
            return f"{measured}: a loss beyond {least} of {limit}, p {p_text}{shared}"
        case "same":
            return f"{measured}: any loss is below the margin of {limit}{_shown(verdict)}"
        case "better":
            return f"{measured}: a gain beyond {limit}"
        case _:
            open_still = f"a loss of {limit} is neither shown nor excluded"
            return f"{measured}: {open_still}{_shown(verdict)}; {_help(verdict, evidence)}"


def _p_text(p_value: float) -> str:
    return "< 0.0001" if p_value < 0.0001 else f"= {p_value:.4f}"


def _shown(verdict: Verdict) -> str:
    if verdict.detectable is None:
        return ""
    return f"; one of {_amount(verdict.detectable, verdict.unit)} would have shown"


def _amount(size: float, unit: Unit) -> str:
    text = f"{size:.0f}" if size >= 10 else f"{size:.2g}"
    return f"{text} point" if (unit, text) == ("points", "1") else f"{text} {unit}"


def _help(verdict: Verdict, evidence: Evidence) -> str:
    """What would tell more: an engineer wants to know whether to wait, or to do something else."""
    if not evidence.interleaved:
        noise = "the noise between sessions stays however often each repeats"
        return f"interleave both sides to judge it: {noise}"
    if verdict.lower is None or verdict.detectable is None:
        return "measure more blocks"
    # Errors fall with the root of the pairs; what has to fall is the loss that would show.
    wanted = evidence.n * (verdict.detectable / verdict.margin) ** 2
    if evidence.what != "pairs" or wanted <= evidence.n:
        return f"measure more {evidence.what}"
    blocks = -(-(wanted - evidence.n) // _PAIRS_A_BLOCK)
    if blocks > _MOST_BLOCKS_ADVISED:
        return "too noisy to decide: find what disturbs, or send more requests a repetition"
    return f"about {blocks:.0f} more block{'' if blocks == 1 else 's'} would show it"
