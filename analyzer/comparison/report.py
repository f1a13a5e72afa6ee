"""A comparison for people and as JSON."""

from collections import Counter
from collections.abc import Sequence
from typing import TypedDict

from gauntlet.analyzer.verdict import Outcome, PlainVerdict, Verdict, objective_label

# What informs and needs no look is counted, not listed.
_QUIET: frozenset[Outcome] = frozenset({"same", "inconclusive"})
_MOST_INFORMING = 8
_MOST_REASONS = 6
_PASSES: frozenset[Outcome] = frozenset({"same", "better"})


class PlainComparison(TypedDict):
    """A comparison as JSON."""

    verdict: Outcome
    reason: str
    verdicts: list[PlainVerdict]
    unjudged: list[dict[str, str]]


def table(verdicts: Sequence[Verdict], order: Sequence[Outcome], *, whole: bool) -> list[str]:
    """Rows of what blocks, in ``order`` of outcomes, with the reasons of what does not pass.

    What only informs follows: all of it where ``whole``, else what is neither the same nor open.
    """
    lines: list[str] = []
    for title, blocking in (("blocking", True), ("informing", False)):
        kind = [verdict for verdict in verdicts if verdict.blocking is blocking]
        kind.sort(key=lambda verdict: order.index(verdict.outcome))
        shown = [v for v in kind if blocking or whole or v.outcome not in _QUIET]
        shown = shown if blocking or whole else shown[:_MOST_INFORMING]
        lines += [title, *_rows(shown)] if shown else []
        hidden = Counter(verdict.outcome for verdict in kind if verdict not in shown)
        if hidden:
            counts = ", ".join(f"{count} {outcome}" for outcome, count in hidden.items())
            lines.append(f"  and {counts} (--all lists them)" if shown else f"{title}: {counts}")
        if blocking:
            lines += _reasons([v for v in shown if v.outcome not in _PASSES])
    return lines


def _rows(verdicts: Sequence[Verdict]) -> list[str]:
    rows = [
        (
            verdict.outcome,
            objective_label(verdict.subject),
            *_numbers(verdict),
            f"{verdict.margin:g} {_unit(verdict)}",
            f"n={verdict.n}",
        )
        for verdict in verdicts
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    return [
        "  "
        + "  ".join(
            f"{cell:<{width}}" if column < 2 else f"{cell:>{width}}"
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _numbers(verdict: Verdict) -> tuple[str, str]:
    if verdict.effect is None:
        return "", ""
    effect = f"{verdict.effect:+.1f} {_unit(verdict)}"
    if verdict.lower is None or verdict.upper is None:
        return effect, ""
    return effect, f"[{verdict.lower:+.1f}, {verdict.upper:+.1f}]"


def _unit(verdict: Verdict) -> str:
    return "pp" if verdict.unit == "points" else verdict.unit


def _reasons(verdicts: Sequence[Verdict]) -> list[str]:
    shown = verdicts[:_MOST_REASONS]
    lines = [f"  {objective_label(verdict.subject)}: {verdict.reason}" for verdict in shown]
    more = len(verdicts) - len(shown)
    return [*lines, f"  and {more} more (--json has every reason)"] if more else lines
