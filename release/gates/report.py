"""Gates as text for people: what is open comes first, with what to do."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from gauntlet.release.gates.model import GateResult, Problem, Qualification

_MOST = 12


def lines_of(result: Qualification, *, whole: bool = False) -> Iterator[str]:
    """The gates of a candidate; ``whole`` lists every problem."""
    yield f"{result.candidate} at {result.commit[:10]}"
    for gate in result.gates:
        yield from gate_lines(gate, whole=whole)
    opened = f" (open: {', '.join(result.open_gates)})" if result.open_gates else ""
    yield f"{result.outcome}{opened}"


def gate_lines(gate: GateResult, *, whole: bool = False) -> Iterator[str]:
    """One gate: its state, what stands, who waived what."""
    numbers = ", ".join(f"{count} {what}" for what, count in gate.numbers if count)
    yield f"{gate.state:12} {gate.name}{f' ({numbers})' if numbers else ''}"
    shown: Sequence[Problem] = gate.standing if whole else gate.standing[:_MOST]
    for problem in shown:
        yield f"  {problem.state:12} {problem.message}"
        if problem.remedy:
            yield f"  {'':12} → {problem.remedy}"
    if len(shown) < len(gate.standing):
        yield f"  {'':12} and {len(gate.standing) - len(shown)} more: --whole lists them"
    for waiver in gate.waivers:
        until = _day(waiver.until)
        yield f"  {'waived':12} by {waiver.by} until {until}: {waiver.reason}"
        yield from (f"  {'':12} {key}" for key in waiver.covers)
    yield from (f"  {'note':12} {note}" for note in gate.notes)


def _day(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
