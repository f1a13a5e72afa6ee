"""Verdicts from estimates: worse, same, better, or not decided, each with its reason.

With the margin m, the effect counted towards "worse" and one error budget for the whole recipe:
worse where the effect is at least m and surely above 0 (Holm over all objectives and looks);
same where it is surely below m; better where, beyond that, it is at most -m and surely below 0;
else inconclusive, which asks for more repetitions. docs/significance.md has the why.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gauntlet.analyzer.stats import Estimate, holm
from gauntlet.analyzer.verdict import Outcome, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One objective with what was found; ``estimate`` is None where nothing could be estimated.

    Effects, intervals and margin are in ``unit``, positive where the candidate is worse.
    ``baseline`` and ``candidate`` are typical values in ``value_unit``, for people.
    """

    subject: str
    blocking: bool
    margin: float
    unit: Literal["%", "points"]
    estimate: Estimate | None = None
    baseline: float | None = None
    candidate: float | None = None
    value_unit: str = ""
    higher_is_better: bool = False
    unusable: Literal["config-changed", "invalid", "missing"] | None = None
    why_unusable: str = ""


def decide(findings: Sequence[Finding], *, false_alarm_rate: float, looks: int) -> list[Verdict]:
    """Decide every objective; the false alarm rate holds for all of them and all looks together."""
    alpha = false_alarm_rate / looks
    blocking = [f for f in findings if f.blocking and f.estimate is not None]
    adjusted = holm([f.estimate.p_value for f in blocking if f.estimate is not None])
    by_subject = {f.subject: p for f, p in zip(blocking, adjusted, strict=True)}
    return [_decide_one(finding, by_subject.get(finding.subject), alpha) for finding in findings]


def _decide_one(finding: Finding, adjusted_p: float | None, alpha: float) -> Verdict:
    blank = Verdict(
        subject=finding.subject,
        outcome="missing",
        blocking=finding.blocking,
        reason=finding.why_unusable,
        margin=finding.margin,
        unit=finding.unit,
        baseline=finding.baseline,
        candidate=finding.candidate,
        value_unit=finding.value_unit,
        higher_is_better=finding.higher_is_better,
    )
    estimate = finding.estimate
    if estimate is None:
        return replace(blank, outcome=finding.unusable or "missing")
    # An objective that does not block is judged alone: it informs, and nobody is stopped by it.
    p_value = estimate.p_value if adjusted_p is None else adjusted_p
    outcome = _outcome(estimate, finding.margin, p_value, alpha)
    sign = -1.0 if finding.higher_is_better else 1.0
    low, high = sorted((sign * estimate.lower + 0.0, sign * estimate.upper + 0.0))
    verdict = replace(
        blank,
        outcome=outcome,
        effect=sign * estimate.effect + 0.0,  # no minus before zero
        lower=low,
        upper=high,
        adjusted_p=p_value,
        n=estimate.n,
    )
    return replace(verdict, reason=_reason(verdict, alpha))


def _outcome(estimate: Estimate, margin: float, p_value: float, alpha: float) -> Outcome:
    if estimate.effect >= margin and p_value < alpha:
        return "worse"
    if estimate.upper < margin:
        surely_better = estimate.upper < 0 and estimate.effect <= -margin
        return "better" if surely_better else "same"
    return "inconclusive"


def _reason(verdict: Verdict, alpha: float) -> str:
    effect, low, high = verdict.effect, verdict.lower, verdict.upper
    digits = 2 if verdict.unit == "points" else 1
    measured = f"{effect:+.{digits}f} {verdict.unit} [{low:+.{digits}f}, {high:+.{digits}f}]"
    limit = f"{verdict.margin:g} {verdict.unit}"
    match verdict.outcome:
        case "worse":
            return f"{measured}: beyond the margin of {limit}, p {_p_text(verdict.adjusted_p)}"
        case "same":
            return f"{measured}: any loss is below the margin of {limit}"
        case "better":
            return f"{measured}: a gain beyond {limit}"
        case _:
            return f"{measured}: a loss of {limit} is neither shown nor excluded at {alpha:.3g}"


def _p_text(p_value: float | None) -> str:
    if p_value is None:
        return "unknown"
    return "< 0.0001" if p_value < 0.0001 else f"= {p_value:.4f}"
