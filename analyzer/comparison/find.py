"""From repetitions to findings: one per objective, and the summaries over places."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from gauntlet.analyzer.comparison.decide import Finding, Unusable
from gauntlet.analyzer.comparison.effects import (
    Effect,
    Noise,
    PairKey,
    SeparateSides,
    Turns,
    interleaved_effect,
    separate_effect,
    turns_of,
    usable,
)
from gauntlet.analyzer.comparison.evidence import FailuresEvidence, RatioEvidence
from gauntlet.analyzer.comparison.objectives import Objective, Spot
from gauntlet.analyzer.comparison.refusals import (
    config_change,
    pairs_in,
    refusal,
    refused_text,
)
from gauntlet.analyzer.comparison.summary import summary_effect
from gauntlet.analyzer.measured import Measured, Side, Statistic

# A share of failed requests that is worth stopping for, in percentage points.
FAILURE_MARGIN_POINTS = 1.0
_LEAST_PAIRS = 2

History = Mapping[tuple[Spot, Statistic], Noise]
Sides = dict[PairKey, Turns] | SeparateSides


@dataclass(frozen=True, slots=True)
class _Refused:
    """Why nothing can be estimated."""

    kind: Unusable
    why: str


def find_loads(
    objectives: Sequence[Objective],
    measured: Sequence[Measured],
    *,
    common_share: float,
    history: History,
) -> list[Finding]:
    """Estimate every objective, then the summary of each statistic of several places."""
    by_spot = spots_of(measured)
    states = {
        spot: _why_unusable(by_spot.get(spot, [])) for spot in {each.spot for each in objectives}
    }
    findings: list[Finding] = []
    sides_of: dict[Objective, Sides] = {}
    for objective in objectives:
        sides = states[objective.spot] or _sides(
            objective, by_spot.get(objective.spot, []), history
        )
        findings.append(_finding(objective, sides))
        if not isinstance(sides, _Refused):
            sides_of[objective] = sides
    return [*findings, *_summaries(objectives, sides_of, common_share)]


def spots_of(measured: Sequence[Measured]) -> dict[Spot, list[Measured]]:
    """The repetitions of each spot, in an order that does not depend on how they came."""
    ordered = sorted(measured, key=lambda each: (each.session, each.position, each.repetition_id))
    found: dict[Spot, list[Measured]] = {}
    for each in ordered:
        if each.side != "single":
            found.setdefault(Spot.of(each.place), []).append(each)
    return found


def find_failures(label: str, repetitions: Sequence[Measured]) -> Finding:
    """Compare the shares of failed requests; failures of refused repetitions count too."""

    def counts(side: Side) -> tuple[int, int]:
        of_side = [each for each in repetitions if each.side == side]
        failed = sum(each.failed for each in of_side)
        return failed, failed + sum(each.completed for each in of_side)

    return failures_finding(label, counts("baseline"), counts("candidate"))


def failures_finding(label: str, baseline: tuple[int, int], candidate: tuple[int, int]) -> Finding:
    """The objective on failures, from (failed, all) of each side."""
    finding = Finding(
        subject=f"requests/{label}/failed",
        blocking=True,
        margin=FAILURE_MARGIN_POINTS,
        unit="points",
        value_unit="%",
    )
    if not baseline[1] or not candidate[1]:
        return replace(finding, why_unusable=f"no requests of {label} on both sides")
    return replace(
        finding,
        evidence=FailuresEvidence(baseline=baseline, candidate=candidate),
        baseline=100 * baseline[0] / baseline[1],
        candidate=100 * candidate[0] / candidate[1],
    )


def _why_unusable(repetitions: Sequence[Measured]) -> _Refused | None:
    """Why no statistic of a spot may be compared; None where they may."""
    sides = {each.side for each in repetitions}
    if not sides:
        return _Refused("missing", "no repetition was recorded")
    if len(sides) == 1:
        return _Refused("missing", f"measured on the {sides.pop()} only")
    change = config_change(repetitions)
    if change is not None:
        return _Refused("config-changed", change)
    left = {each.side for each in repetitions if refusal(each) is None}
    if left != sides:
        return _Refused("invalid", refused_text(repetitions))
    return None


def _sides(
    objective: Objective, repetitions: Sequence[Measured], history: History
) -> Sides | _Refused:
    """The values of one statistic as they can be compared."""
    valid = [each for each in repetitions if refusal(each) is None]
    values = [each.values.get(objective.statistic) for each in valid]
    unusable = sum(not usable(value) for value in values)
    # Sides that were interleaved stay so, however few turns are left.
    if pairs_in(repetitions):
        pairs = turns_of(valid, objective.statistic)
        if len(pairs) >= _LEAST_PAIRS or (pairs and len(valid) == len(repetitions)):
            return pairs
        left = f"{len(pairs)} of {len(pairs_in(repetitions))} pairs left, {_LEAST_PAIRS} needed"
        return _too_few(repetitions, left, unusable, len(values))
    by_side = {
        side: [
            value
            for each, value in zip(valid, values, strict=True)
            if each.side == side and value is not None and usable(value)
        ]
        for side in ("baseline", "candidate")
    }
    if not all(by_side.values()):
        return _too_few(repetitions, "no value on one side", unusable, len(values))
    noise = _noise(objective, history)
    if noise is None:
        name = " ".join(objective.statistic)
        why = f"not interleaved, and neither history nor margins tell how {name} varies"
        return _Refused("missing", why)
    return SeparateSides(
        baseline=by_side["baseline"],
        candidate=by_side["candidate"],
        noise=noise,
        sessions=(_sessions(valid, "baseline"), _sessions(valid, "candidate")),
    )


def _too_few(repetitions: Sequence[Measured], left: str, unusable: int, values: int) -> _Refused:
    refused = refused_text(repetitions)
    if refused:
        return _Refused("invalid", f"{left}; {refused}")
    return _Refused("missing", f"{left}; {unusable} of {values} values absent, zero or not finite")


def _sessions(valid: Sequence[Measured], side: Side) -> int:
    """How many sessions are behind a side; repetitions that name none were made in one."""
    return len({each.session for each in valid if each.side == side})


def _noise(objective: Objective, history: History) -> Noise | None:
    known = history.get((objective.spot, objective.statistic))
    if known is not None:
        return known
    if objective.noise_percent is None:
        return None
    sd = math.log1p(objective.noise_percent / 100)
    return Noise(sd=sd, source="assumed by noise_percent of the margins")


def _finding(objective: Objective, sides: Sides | _Refused) -> Finding:
    if isinstance(sides, _Refused):
        return replace(_blank(objective), unusable=sides.kind, why_unusable=sides.why)
    effect = (
        separate_effect(sides) if isinstance(sides, SeparateSides) else interleaved_effect(sides)
    )
    return replace(
        _with(_blank(objective), effect), baseline=effect.baseline, candidate=effect.candidate
    )


def _blank(objective: Objective) -> Finding:
    return Finding(
        subject=objective.subject,
        blocking=objective.blocking,
        margin=objective.margin_percent,
        unit="%",
        value_unit=objective.unit,
        higher_is_better=objective.higher_is_better,
    )


def _with(finding: Finding, effect: Effect) -> Finding:
    evidence = RatioEvidence(effect=effect, higher_is_better=finding.higher_is_better)
    return replace(finding, evidence=evidence)


def _summaries(
    objectives: Sequence[Objective], sides_of: Mapping[Objective, Sides], common_share: float
) -> list[Finding]:
    """One finding per statistic that has several places, over those that could be compared."""
    findings = []
    ordered = sorted(objectives, key=_summary_subject)
    for subject, group in groupby(ordered, key=_summary_subject):
        members = list(group)
        sides = [sides_of[member] for member in members if member in sides_of]
        if len(members) < 2:
            continue
        blank = replace(_blank(members[0]), subject=subject)
        if len(sides) < 2:
            why = f"{len(sides)} of {len(members)} places can be compared, 2 needed"
            findings.append(replace(blank, unusable="missing", why_unusable=why))
        else:
            findings.append(_with(blank, summary_effect(sides, common_share)))
    return findings


def _summary_subject(objective: Objective) -> str:
    return f"{objective.summary}/{objective.statistic.metric}/{objective.statistic.statistic}"
