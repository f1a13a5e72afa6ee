"""Verdicts on two frontiers by equivalence: is less of the plane within reach? Pure.

Effects are per cent of the baseline's area, or of its throughput at one interactivity; more is
better. docs/significance.md has the rule.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from gauntlet.analyzer.comparison.decide import Finding, decide
from gauntlet.analyzer.comparison.evidence import RatioEvidence
from gauntlet.analyzer.comparison.looks import Budget
from gauntlet.analyzer.frontier.geometry import (
    ORIGIN,
    Array,
    Corner,
    equal_interactivities,
    hypervolume,
    throughput_at,
)
from gauntlet.analyzer.frontier.resample import DRAWS, Sides, Summary, shift_of
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


class Noted(NamedTuple):
    """An objective, and what a reader of its verdict should know."""

    finding: Finding
    note: str = ""


def findings_of(subject: str, sides: Sides, rule: Rule, note: str = "") -> list[Noted]:
    """Look at the areas, and at the throughput at a few interactivities that both sides reach."""
    baseline, candidate = sides.baseline.means(), sides.candidate.means()
    area = partial(hypervolume, reference=rule.reference)
    found = [Noted(_finding(f"{subject}/hypervolume", sides, area, rule, AREA_UNIT), note)]
    for at in equal_interactivities(baseline, candidate):
        read = partial(throughput_at, interactivity=at)
        at_subject = f"{subject}/throughput@{at:.3g}"
        finding = _finding(at_subject, sides, read, rule, THROUGHPUT_UNIT, blocking=False)
        found.append(Noted(finding))
    if len(found) == 1:
        found.append(Noted(_no_overlap(subject, baseline, candidate, rule)))
    return found


def _finding(
    subject: str,
    sides: Sides,
    summary: Summary,
    rule: Rule,
    value_unit: str,
    *,
    blocking: bool = True,
) -> Finding:
    effect = shift_of(
        sides, summary, noise=rule.noise_percent / 100, draws=rule.draws, seed=rule.seed
    )
    return Finding(
        subject=subject,
        blocking=blocking,
        margin=rule.margin_percent,
        unit="%",
        evidence=None if effect is None else RatioEvidence(effect=effect, higher_is_better=True),
        baseline=float(summary(*sides.baseline.means())),
        candidate=float(summary(*sides.candidate.means())),
        value_unit=value_unit,
        higher_is_better=True,
        why_unusable="no repetition of it says anything by itself",
    )


def _no_overlap(subject: str, baseline: Frontier, candidate: Frontier, rule: Rule) -> Finding:
    said = [
        f"{name} reaches {np.nanmin(x):.3g} to {np.nanmax(x):.3g}"
        for name, (x, _) in (("the baseline", baseline), ("the candidate", candidate))
    ]
    return Finding(
        subject=f"{subject}/throughput",
        blocking=False,
        margin=rule.margin_percent,
        unit="%",
        value_unit=THROUGHPUT_UNIT,
        higher_is_better=True,
        why_unusable=(
            f"no range of interactivity that both reach: {', '.join(said)} tokens/s/user"
        ),
    )


def decide_noted(noted: Sequence[Noted], rule: Rule) -> list[Verdict]:
    """Decide every objective; areas of all bands share one error budget."""
    budget = Budget(false_alarm_rate=rule.false_alarm_rate)
    verdicts = decide([each.finding for each in noted], budget)
    return [
        replace(verdict, reason=f"{verdict.reason} ({each.note})") if each.note else verdict
        for verdict, each in zip(verdicts, noted, strict=True)
    ]


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
