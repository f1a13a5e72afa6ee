"""Verdicts on two frontiers by equivalence: is less of the plane within reach? Pure.

Effects are per cent of the baseline's area, or of its throughput at one interactivity; more is
better. docs/significance.md has the rule.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy import stats

from gauntlet.analyzer.frontier.geometry import (
    ORIGIN,
    Array,
    Corner,
    equal_interactivities,
    hypervolume,
    throughput_at,
)
from gauntlet.analyzer.frontier.resample import DRAWS, Shift, Sides, shift_of
from gauntlet.analyzer.stats import holm
from gauntlet.analyzer.verdict import Outcome, Verdict

AREA_UNIT = "tokens/s/user x tokens/s/GPU"
THROUGHPUT_UNIT = "tokens/s/GPU"

Frontier = tuple[Array, Array]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How frontiers are judged.

    ``margin_percent``: the loss that does not matter. ``false_alarm_rate`` holds for all bands
    together. ``noise_percent``: standard deviation between sessions of sides that were not
    interleaved. ``reference`` is the corner that areas are counted from.
    """

    margin_percent: float = 3.0
    false_alarm_rate: float = 0.01
    noise_percent: float = 1.0
    draws: int = DRAWS
    seed: int = 0
    reference: Corner = ORIGIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One objective that could be looked at; ``shift`` is None where it has no number."""

    subject: str
    blocking: bool
    shift: Shift | None
    baseline: float | None
    candidate: float | None
    value_unit: str
    note: str = ""


def findings_of(subject: str, sides: Sides, rule: Rule, note: str = "") -> list[Finding]:
    """Look at the areas, and at the throughput at a few interactivities that both sides reach."""
    baseline, candidate = sides.baseline.means(), sides.candidate.means()
    area = partial(hypervolume, reference=rule.reference)
    estimate = partial(
        shift_of,
        sides,
        alpha=rule.false_alarm_rate,
        noise=rule.noise_percent / 100,
        draws=rule.draws,
        seed=rule.seed,
    )
    found = [
        Finding(
            subject=f"{subject}/hypervolume",
            blocking=True,
            shift=estimate(area),
            baseline=float(area(*baseline)),
            candidate=float(area(*candidate)),
            value_unit=AREA_UNIT,
            note=note,
        )
    ]
    for at in equal_interactivities(baseline, candidate):
        read = partial(throughput_at, interactivity=at)
        found.append(
            Finding(
                subject=f"{subject}/throughput@{at:.3g}",
                blocking=False,
                shift=estimate(read),
                baseline=float(read(*baseline)),
                candidate=float(read(*candidate)),
                value_unit=THROUGHPUT_UNIT,
            )
        )
    if len(found) == 1:
        found.append(_no_overlap(subject, baseline, candidate))
    return found


def _no_overlap(subject: str, baseline: Frontier, candidate: Frontier) -> Finding:
    said = [
        f"{name} reaches {np.nanmin(x):.3g} to {np.nanmax(x):.3g}"
        for name, (x, _) in (("the baseline", baseline), ("the candidate", candidate))
    ]
    return Finding(
        subject=f"{subject}/throughput",
        blocking=False,
        shift=None,
        baseline=None,
        candidate=None,
        value_unit=THROUGHPUT_UNIT,
        note=f"no range of interactivity that both reach: {', '.join(said)} tokens/s/user",
    )


def decide(findings: Sequence[Finding], rule: Rule) -> list[Verdict]:
    """Decide every objective; areas of all bands share one error budget (Holm).

    Throughput at one interactivity informs: its p-values are adjusted by Benjamini and Hochberg.
    """
    adjusted: dict[str, float] = {}
    for blocking in (True, False):
        tested = {
            finding.subject: finding.shift.p_value
            for finding in findings
            if finding.blocking == blocking
            and finding.shift is not None
            and finding.shift.p_value is not None
        }
        p_values = list(tested.values())
        if p_values:
            together = holm(p_values) if blocking else stats.false_discovery_control(p_values)
            adjusted |= dict(zip(tested, map(float, together), strict=True))
    return [_decide(finding, adjusted.get(finding.subject), rule) for finding in findings]


def _decide(finding: Finding, adjusted_p: float | None, rule: Rule) -> Verdict:
    shift = finding.shift
    verdict = blank(
        finding.subject,
        "missing",
        finding.note or "no repetition of it says anything by itself",
        rule,
        blocking=finding.blocking,
    )
    verdict = replace(
        verdict,
        baseline=finding.baseline,
        candidate=finding.candidate,
        value_unit=finding.value_unit,
    )
    if shift is None:
        return verdict
    verdict = replace(verdict, effect=_percent(shift.effect), n=shift.n, method=shift.method)
    if shift.lower is None or shift.upper is None or adjusted_p is None:
        why = f"{verdict.effect:+.1f} %: {shift.method}; measure it again"
        return replace(verdict, outcome="inconclusive", reason=_with(why, finding.note))
    verdict = replace(
        verdict,
        lower=_percent(shift.lower),
        upper=_percent(shift.upper),
        adjusted_p=adjusted_p,
        detectable=None if shift.detectable is None else -_percent(-shift.detectable),
    )
    outcome = outcome_of(verdict, rule)
    reason = _with(_reason(verdict, outcome, rule), finding.note)
    return replace(verdict, outcome=outcome, reason=reason)


def blank(
    subject: str, outcome: Outcome, reason: str, rule: Rule, *, blocking: bool = True
) -> Verdict:
    """A verdict without numbers."""
    return Verdict(
        subject=subject,
        outcome=outcome,
        blocking=blocking,
        reason=reason,
        margin=rule.margin_percent,
        unit="%",
        higher_is_better=True,
    )


def _percent(log_ratio: float) -> float:
    return math.expm1(log_ratio) * 100 + 0.0  # no minus before zero


def outcome_of(verdict: Verdict, rule: Rule) -> Outcome:
    """Apply the rule of equivalence to an effect of which more is better, in per cent."""
    margin = rule.margin_percent
    if verdict.lower is None or verdict.effect is None:
        return "inconclusive"
    if verdict.lower > -margin:
        return "better" if verdict.lower > 0 and verdict.effect >= margin else "same"
    shown = verdict.adjusted_p is not None and verdict.adjusted_p < rule.false_alarm_rate
    return "worse" if shown and verdict.effect <= -margin / 2 else "inconclusive"


def _reason(verdict: Verdict, outcome: Outcome, rule: Rule) -> str:
    measured = f"{verdict.effect:+.1f} % [{verdict.lower:+.1f}, {verdict.upper:+.1f}]"
    limit = f"{rule.margin_percent:g} %"
    seen = f"a loss of {verdict.detectable:.1f} % would have been seen in nine of ten cases"
    match outcome:
        case "worse":
            return f"{measured}: a loss of more than half of the margin of {limit} is shown"
        case "better":
            return f"{measured}: a gain of {limit} or more"
        case "same":
            return f"{measured}: any loss is below the margin of {limit}; {seen}"
        case _:
            return f"{measured}: a loss of {limit} is neither shown nor excluded; {seen}"


def _with(reason: str, note: str) -> str:
    return f"{reason} ({note})" if note else reason
