"""From verdicts to frames and reports: pure functions, no Streamlit and no warehouse."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import pandas as pd

from gauntlet.analyzer.comparison.compare import OUTCOME_ORDER, Comparison
from gauntlet.analyzer.comparison.objectives import Unjudged
from gauntlet.analyzer.measured import Place, Side
from gauntlet.analyzer.verdict import Outcome, Verdict, objective_label
from gauntlet.hud import palette
from gauntlet.hud.shell.times import NONE

REFUSED: tuple[Outcome, ...] = ("config-changed", "invalid", "missing")
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|$~#])")


def by_significance(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """The gravest first, then those that chance explains least, then the largest."""
    return sorted(
        verdicts,
        key=lambda v: (
            OUTCOME_ORDER.index(v.outcome),
            1.0 if v.adjusted_p is None else v.adjusted_p,
            -abs(v.effect or 0.0),
            v.subject,
        ),
    )


def headline(comparison: Comparison) -> str:
    """One sentence: how many blocking verdicts say what."""
    counts = Counter(v.outcome for v in comparison.verdicts if v.blocking)
    if not counts:
        return "nothing that blocks was measured on both sides"
    return ", ".join(f"{counts[o]} {o}" for o in OUTCOME_ORDER if counts[o])


def effect_words(verdict: Verdict) -> str:
    """A change in words that know the direction: ``3.1 % slower``; a dash where there is none."""
    if verdict.effect is None:
        return NONE
    size = f"{abs(verdict.effect):.1f} {_unit(verdict)}"
    if round(abs(verdict.effect), 1) == 0:
        return f"no change ({size})"
    rose = verdict.effect > 0
    if "_ms" in verdict.subject:
        return f"{size} {'slower' if rose else 'faster'}"
    if verdict.subject.startswith("requests/"):
        return f"{size} {'more' if rose else 'fewer'} failures"
    return f"{size} {'higher' if rose else 'lower'}"


def interval_words(verdict: Verdict) -> str:
    """The interval of the effect; a dash where there is none."""
    if verdict.lower is None or verdict.upper is None:
        return NONE
    return f"{verdict.lower:+.1f} to {verdict.upper:+.1f} {_unit(verdict)}"


def _unit(verdict: Verdict) -> str:
    return "pp" if verdict.unit == "points" else verdict.unit


COLUMNS = {
    "verdict": "verdict",
    "objective": "objective",
    "baseline": "baseline",
    "candidate": "candidate",
    "effect": "effect",
    "interval": "interval",
    "margin": "margin",
    "detectable": "could have seen",
    "n": "n",
    "adjusted_p": "adjusted p",
    "blocks": "blocks",
    "method": "method",
    "reason": "reason",
}


def verdict_table(verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """Verdicts as people read them, in the order in which they are given."""
    rows = [
        {
            "verdict": palette.signed(palette.VERDICTS, v.outcome),
            "objective": objective_label(v.subject),
            "baseline": _value(v.baseline, v.value_unit),
            "candidate": _value(v.candidate, v.value_unit),
            "effect": effect_words(v),
            "interval": interval_words(v),
            "margin": f"{v.margin:g} {_unit(v)}",
            "detectable": NONE if v.detectable is None else f"{v.detectable:.1f} {_unit(v)}",
            "n": v.n,
            "adjusted_p": NONE if v.adjusted_p is None else f"{v.adjusted_p:.2g}",
            "blocks": "yes" if v.blocking else "no",
            "method": v.method or NONE,
            "reason": v.reason,
        }
        for v in verdicts
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _value(value: float | None, unit: str) -> str:
    return NONE if value is None else f"{value:,.4g} {unit}"


def effects_frame(verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """What the forest chart needs: verdicts that have an effect with an interval."""
    rows = [
        {**v.plain(), "outcome": v.outcome, "lower": v.lower, "upper": v.upper}
        for v in verdicts
        if v.effect is not None and v.lower is not None
    ]
    columns = ["subject", "outcome", "effect", "lower", "upper", "higher_is_better", "margin"]
    return pd.DataFrame(rows, columns=[*columns, "unit", "reason"])


def refusals_frame(verdicts: Iterable[Verdict], unjudged: Iterable[Unjudged]) -> pd.DataFrame:
    """What could not be compared, or is not judged, by reason."""
    found: dict[tuple[str, str], list[str]] = {}
    for each in verdicts:
        if each.outcome in REFUSED:
            key = (palette.signed(palette.VERDICTS, each.outcome), each.reason)
            found.setdefault(key, []).append(objective_label(each.subject))
    for one in unjudged:
        found.setdefault(("not judged", one.reason), []).append(objective_label(one.subject))
    rows = [
        {"state": state, "reason": why, "count": len(names), "objectives": ", ".join(names)}
        for (state, why), names in found.items()
    ]
    return pd.DataFrame(rows, columns=["state", "count", "reason", "objectives"])


def coverage_frame(places: dict[Side, frozenset[Place]]) -> pd.DataFrame:
    """Points that one side alone has measured."""
    both = places["baseline"] & places["candidate"]
    rows = [
        {"only": side, **place._asdict()}
        for side in places
        for place in sorted(places[side] - both)
    ]
    return pd.DataFrame(rows, columns=["only", *Place._fields])


def csv_of(verdicts: Sequence[Verdict]) -> str:
    """Verdicts with bare numbers, for programs."""
    rows = [{**v.plain(), "interval": None, "lower": v.lower, "upper": v.upper} for v in verdicts]
    return str(pd.DataFrame(rows).drop(columns=["interval"], errors="ignore").to_csv(index=False))


def markdown_of(comparison: Comparison, baseline: str, candidate: str) -> str:
    """A report to be pasted where people decide: the headline, then a table."""
    ordered = by_significance(comparison.verdicts)
    table = verdict_table([v for v in ordered if v.blocking])
    columns = ["verdict", "objective", "baseline", "candidate", "effect", "interval", "margin"]
    columns += ["n", "adjusted_p", "reason"]
    lines = [
        f"# {comparison.outcome}: {headline(comparison)}",
        "",
        f"Candidate {_plain(candidate)} against baseline {_plain(baseline)}; what blocks:",
        "",
        _row(COLUMNS[name] for name in columns),
        _row("---" for _ in columns),
        *(_row(_plain(str(row[name])) for name in columns) for row in table.to_dict("records")),
    ]
    return "\n".join(lines) + "\n"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _plain(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))
