"""Which value to probe next, from the probes so far: a pure function, so a search can resume."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

ProbeVerdict = Literal["keeps", "misses", "unclear"]
# A value is probed this often at most before it counts as undecidable.
MOST_TRIES = 3
# The answer itself has to hold more than once.
CONFIRMATIONS = 2
# One may be chance; with more, there is no limit to be found.
_MOST_CONTRADICTIONS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Where to look. ``tolerance`` is the width of the answer as a share of it."""

    low: float
    high: float
    tolerance: float
    whole_numbers: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """One probe at one value, and why it came out as it did."""

    value: float
    verdict: ProbeVerdict
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """How a search ended.

    ``best`` is the highest value that kept the limits, None where none did. ``above`` is the lowest
    one known to miss them, None where none did.
    """

    status: Literal["resolved", "unresolved"]
    best: float | None
    above: float | None
    reason: str


def next_step(bounds: Bounds, probes: Sequence[Probed]) -> float | Answer:
    """The next value to probe, or the answer."""
    contradicted = _contradicted(probes)
    if len(contradicted) > _MOST_CONTRADICTIONS:
        values = ", ".join(f"{value:g}" for value in contradicted)
        return _unresolved(probes, f"probes contradict each other at {values}")
    step = _edges(bounds, probes)
    if step is not None:
        return step
    best, blocked = _bracket(bounds, probes)
    if best > blocked:
        return _unresolved(probes, f"{blocked:g} does not keep the limits, but {best:g} does")
    if _narrow(bounds, best, blocked):
        return _conclude(probes, best, blocked)
    pending = _pending(probes)
    return _between(bounds, best, blocked) if pending is None else pending


def _edges(bounds: Bounds, probes: Sequence[Probed]) -> float | Answer | None:
    """Probe both ends first: a search between two values of one kind finds nothing."""
    low, high = _settled(probes, bounds.low), _settled(probes, bounds.high)
    if low is None:
        return bounds.low
    if low != "keeps":
        return _unresolved(probes, f"the lowest value, {bounds.low:g}, already {_words(low)}")
    if high == "keeps":
        return _unresolved(probes, f"the highest value, {bounds.high:g}, still keeps the limits")
    return bounds.high if high is None else None


def _settled(probes: Sequence[Probed], value: float) -> ProbeVerdict | None:
    """What is known of a value; None where another probe is needed.

    A clear verdict settles it unless a later one contradicts; unclear ones settle it at last.
    """
    verdicts = [probe.verdict for probe in probes if probe.value == value]
    clear = [verdict for verdict in verdicts if verdict != "unclear"]
    if clear:
        return clear[0] if len(set(clear)) == 1 else "unclear"
    return "unclear" if len(verdicts) >= MOST_TRIES else None


def _contradicted(probes: Sequence[Probed]) -> list[float]:
    """Values that kept the limits once and missed them once."""
    values = sorted({probe.value for probe in probes})
    return [
        value
        for value in values
        if {"keeps", "misses"} <= {probe.verdict for probe in probes if probe.value == value}
    ]


def _pending(probes: Sequence[Probed]) -> float | None:
    """A value whose probes have decided nothing yet."""
    return next((p.value for p in reversed(probes) if _settled(probes, p.value) is None), None)


def _bracket(bounds: Bounds, probes: Sequence[Probed]) -> tuple[float, float]:
    values = sorted({probe.value for probe in probes})
    keeps = [value for value in values if _settled(probes, value) == "keeps"]
    others = [value for value in values if _settled(probes, value) in {"misses", "unclear"}]
    return max(keeps, default=bounds.low), min(others, default=bounds.high)


def _narrow(bounds: Bounds, best: float, blocked: float) -> bool:
    if bounds.whole_numbers and blocked - best <= 1:
        return True
    return blocked - best <= bounds.tolerance * blocked


def _between(bounds: Bounds, best: float, blocked: float) -> float:
    # Rates span decades, so that halving the ratio is the shorter way.
    middle = math.sqrt(best * blocked)
    if bounds.whole_numbers:
        return float(min(max(round(middle), best + 1), blocked - 1))
    return float(f"{middle:.6g}")


def _conclude(probes: Sequence[Probed], best: float, blocked: float) -> float | Answer:
    kept = sum(probe.value == best and probe.verdict == "keeps" for probe in probes)
    tries = sum(probe.value == best for probe in probes)
    if kept < CONFIRMATIONS:
        if tries >= MOST_TRIES + CONFIRMATIONS:
            return _unresolved(probes, f"{best:g} kept the limits once, but not again")
        return best
    if _settled(probes, blocked) == "unclear":
        reason = f"{best:g} keeps the limits; at {blocked:g} the probes do not decide"
        return _unresolved(probes, reason)
    reason = f"{best:g} keeps the limits in {kept} probes, {blocked:g} misses them"
    return Answer(status="resolved", best=best, above=blocked, reason=reason)


def _unresolved(probes: Sequence[Probed], reason: str) -> Answer:
    values = sorted({probe.value for probe in probes})
    keeps = [value for value in values if _settled(probes, value) == "keeps"]
    misses = [value for value in values if _settled(probes, value) == "misses"]
    return Answer(
        status="unresolved",
        best=max(keeps, default=None),
        above=min(misses, default=None),
        reason=reason,
    )


def _words(verdict: ProbeVerdict) -> str:
    return "misses the limits" if verdict == "misses" else "is not clear"
