"""A recorded evaluation as text: each gate, its problems, and every number that it weighed."""

from collections.abc import Iterator, Mapping, Sequence

from gauntlet.release.gates.record import KeptGate, Recorded


def explain(found: Recorded, gates: Sequence[KeptGate]) -> Iterator[str]:
    """Tell what was decided, by whom it was asked, and on what."""
    yield f"{found.candidate} at {found.commit[:10]}: {found.outcome}"
    yield f"evaluated {found.at:%Y-%m-%d %H:%M} UTC by {found.by}"
    for gate in gates:
        yield ""
        yield f"{gate.state} {gate.gate}"
        if gate.numbers:
            counts = ", ".join(f"{count} {what}" for what, count in gate.numbers.items())
            yield f"  looked at: {counts}"
        if gate.evidence:
            yield f"  evidence: {', '.join(gate.evidence)}"
        for problem in gate.problems:
            yield f"  {problem.state:12} {problem.key}"
            yield f"  {'':12} {problem.message}"
        for waiver in gate.waivers:
            until = f"{waiver.until:%Y-%m-%d %H:%M} UTC"
            yield f"  waived by {waiver.by} until {until}: {waiver.reason}"
            yield from (f"    {key}" for key in waiver.covers)
        yield from (f"  note: {note}" for note in gate.notes)
        yield from map(_statistic, gate.statistics)


def _statistic(each: Mapping[str, object]) -> str:
    """One statistic in one line; what was not estimated is a dash."""
    interval = each.get("interval")
    effect, unit = _number(each.get("effect"), "+.2f"), each.get("unit") or ""
    if isinstance(interval, list) and len(interval) == 2:
        effect += f" [{_number(interval[0], '+.2f')}, {_number(interval[1], '+.2f')}]"
    margin = _number(each.get("margin"), "g")
    p_value = _number(each.get("adjusted_p"), ".2g")
    numbers = f"{effect} {unit}, margin {margin}, p {p_value}, n {each.get('n')}"
    return f"  {each.get('verdict')!s:13} {each.get('statistic')}: {numbers} ({each.get('run')})"


def _number(value: object, form: str) -> str:
    return format(value, form) if isinstance(value, int | float) else "-"
