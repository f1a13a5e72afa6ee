"""The one sentence of a verdict on accuracy."""

from collections.abc import Sequence

from gauntlet.analyzer.accuracy.comparability import Difference
from gauntlet.analyzer.accuracy.outcome import Details, Table, Truncation, sentence
from gauntlet.analyzer.accuracy.paired import Drop
from gauntlet.analyzer.verdict import Verdict

_DIFFERENCES_SHOWN = 4


def changed(found: Sequence[Difference]) -> str:
    """Why nothing is compared: what differs, and that it is no accuracy."""
    shown = ", ".join(map(str, found[:_DIFFERENCES_SHOWN]))
    more = f" and {len(found) - _DIFFERENCES_SHOWN} more" if len(found) > _DIFFERENCES_SHOWN else ""
    return f"{shown}{more}: a dependency, not accuracy; the candidate is a new baseline"


def judged(verdict: Verdict, details: Details) -> str:
    """Say what was measured, why that gives this outcome, and what else may explain it."""
    drop = details.drop
    if drop is None:
        return ""
    parts = [f"{_moved(verdict)}: {_counts(drop, details.table)}", _why(verdict, details, drop)]
    parts += [_floor(details), _length(details.truncation)]
    return sentence(parts)


def _moved(verdict: Verdict) -> str:
    effect = verdict.effect or 0.0
    interval = f"[{verdict.lower:+.2f}, {verdict.upper:+.2f}]"
    return f"{effect:+.2f} points {interval}"


def _counts(drop: Drop, table: Table | None) -> str:
    kind = "right" if table else "better"
    return (
        f"of {drop.n} answers {drop.losses} were {kind} only before, {drop.gains} only now"
        f" (p {p_text(drop.p_drop)})"
    )


def _why(verdict: Verdict, details: Details, drop: Drop) -> str:
    limit = f"{verdict.margin:g} points"
    seen = _could_see(details.detectable_90 or 1.0)
    if details.rerun is not None:
        return (
            f"more than chance, but within one standard error ({100 * drop.error:.2f}) of its"
            " threshold:"
            f" rerun both sides {details.rerun.repeats} times, {', '.join(details.rerun.tasks)},"
            " before anybody is accused"
        )
    match verdict.outcome:
        case "worse":
            return f"more than chance, and more than half of the margin of {limit}"
        case "better":
            return f"a gain of at least {limit}, more than chance"
        case "same":
            return f"any drop is below {limit}; {seen}"
        case _:
            return f"a drop of {limit} is neither shown nor excluded; {seen}"


def _could_see(share: float) -> str:
    if share >= 1:
        return "so few answers can show no drop at all"
    return f"a drop of {100 * share:.1f} points would have been seen in nine of ten cases"


def _floor(details: Details) -> str:
    floor = details.floor
    if floor is None:
        return ""
    above = "more than" if floor.is_above(details.alpha) else "not shown to be more than"
    return (
        f"{floor.candidate_share:.1%} of the answers differ, {above} the {floor.share:.1%}"
        " by which the baseline differs from itself"
    )


def _length(found: Truncation | None) -> str:
    if found is None or not found.about_length:
        return ""
    shares = f"truncated share {found.baseline_share:.1%} → {found.candidate_share:.1%}"
    return f"it is about length, not knowledge: the drop vanishes without cut answers ({shares})"


def p_text(p_value: float) -> str:
    """A p-value as people read it."""
    return "< 0.0001" if p_value < 0.0001 else f"= {p_value:.4f}"
