"""One series by itself: verdict, changes and alarm, each with numbers and one sentence."""

from collections.abc import Callable
from typing import NamedTuple, TypedDict

from gauntlet.analyzer.history.shape import Alarm, Change, Shape
from gauntlet.analyzer.verdict import Outcome

Naming = Callable[[int], str]
_LONG_ENOUGH = 10
_MOVES = ("step", "recovery", "drift")
_ALARM_METHOD = "distance of the last points from the present level, Student's t"
_SCAN_METHOD = "likelihood-ratio scan with AR(1) noise"


class PlainChange(TypedDict):
    """A change as JSON; ``index_interval`` holds the first new point with 95 %."""

    kind: str
    index: int
    at: str
    index_interval: tuple[int, int]
    end: int | None
    effect: float
    interval: tuple[float, float]
    before: float
    after: float
    n: tuple[int, int]
    p: float
    method: str
    reason: str


class PlainAlarm(TypedDict):
    """An alarm as JSON."""

    index: int
    at: str
    parent: int
    points: int
    effect: float
    interval: tuple[float, float]
    z: float
    p: float
    reason: str


class PlainShape(TypedDict):
    """A series as JSON; effects are per cent of the level before.

    ``effect``, ``interval`` and ``method`` are those of what the verdict rests on: the last change
    of the level, or the alarm; None where there is none.
    """

    verdict: Outcome
    reason: str
    effect: float | None
    interval: tuple[float, float] | None
    method: str
    n: int
    level: float | None
    level_from: int | None
    noise_percent: float | None
    changes: list[PlainChange]
    alarm: PlainAlarm | None


class Reading(NamedTuple):
    """How a series is read: which way is better, what counts, and what its points are called."""

    higher_is_better: bool
    margin_percent: float
    name: Naming


def point_name(index: int) -> str:
    """The name of a point that has none: its place from 0."""
    return f"point {index}"


def unjudged(shape: Shape) -> str:
    """Why a shape says nothing of its present level; empty where it does.

    A series without any noise that is long enough is the same, and needs no statistics for it.
    """
    constant = shape.noise_percent is None and shape.n >= _LONG_ENOUGH
    return "" if constant else shape.reason


def verdict_of(shape: Shape, reading: Reading) -> tuple[Outcome, str]:
    """Say in a word how the present level stands against the one before it, and why."""
    if shape.level is None:
        return "missing", shape.reason or "nothing was measured"
    if shape.alarm is not None:
        return "inconclusive", alarm_reason(shape.alarm, reading)
    last = _last_of_level(shape)
    if last is not None and abs(last.effect_percent) >= reading.margin_percent:
        if _loss(last.effect_percent, reading) > 0:
            return "worse", change_reason(last, reading)
        if last.kind != "recovery":
            return "better", change_reason(last, reading)
    if open_because := unjudged(shape):
        return "inconclusive", open_because
    since = reading.name(shape.level_from) if shape.level_from is not None else "the beginning"
    return "same", f"no step of {reading.margin_percent:g} % or more since {since}"


def _last_of_level(shape: Shape) -> Change | None:
    """The last change that moved the level."""
    moved = [change for change in shape.changes if change.kind in _MOVES]
    return moved[-1] if moved else None


def _loss(effect_percent: float, reading: Reading) -> float:
    return -effect_percent if reading.higher_is_better else effect_percent


def _way(effect_percent: float, reading: Reading) -> str:
    return "worse" if _loss(effect_percent, reading) > 0 else "better"


def change_reason(change: Change, reading: Reading) -> str:
    """One sentence about a change."""
    at, effect = reading.name(change.index), f"{change.effect_percent:+.1f} %"
    span = f"{change.lower_percent:+.1f} to {change.upper_percent:+.1f}"
    if change.kind == "variance":
        return f"from {at} on the spread is another one ({effect}), the level is not"
    if change.kind == "outlier":
        return f"{at} is {effect} off, and the level goes on"
    way = _way(change.effect_percent, reading)
    if change.kind == "drift":
        return f"{effect} ({way}) little by little from {at} on: no culprit"
    back = ", back to the level before" if change.kind == "recovery" else ""
    return f"a step of {effect} ({span}; {way}) at {at}{back}"


def alarm_reason(alarm: Alarm, reading: Reading) -> str:
    """One sentence about an alarm."""
    points = "the last point is" if alarm.points == 1 else f"the last {alarm.points} points are"
    way = _way(alarm.effect_percent, reading)
    text = f"{points} {alarm.effect_percent:+.1f} % ({way}) and {abs(alarm.z):.1f} deviations off"
    return f"{text}: rerun {reading.name(alarm.index)} and {reading.name(alarm.parent)}"


def plain_shape(shape: Shape, reading: Reading) -> PlainShape:
    """A shape as JSON."""
    verdict, reason = verdict_of(shape, reading)
    last = _last_of_level(shape)
    basis = shape.alarm or last
    return PlainShape(
        verdict=verdict,
        reason=reason,
        effect=None if basis is None else basis.effect_percent,
        interval=None if basis is None else (basis.lower_percent, basis.upper_percent),
        method=_ALARM_METHOD if shape.alarm else last.method if last else _SCAN_METHOD,
        n=shape.n,
        level=shape.level,
        level_from=shape.level_from,
        noise_percent=shape.noise_percent,
        changes=[_plain_change(change, reading) for change in shape.changes],
        alarm=None if shape.alarm is None else _plain_alarm(shape.alarm, reading),
    )


def _plain_change(change: Change, reading: Reading) -> PlainChange:
    return PlainChange(
        kind=change.kind,
        index=change.index,
        at=reading.name(change.index),
        index_interval=(change.first, change.last),
        end=change.end,
        effect=change.effect_percent,
        interval=(change.lower_percent, change.upper_percent),
        before=change.before,
        after=change.after,
        n=(change.n_before, change.n_after),
        p=change.p_value,
        method=change.method,
        reason=change_reason(change, reading),
    )


def _plain_alarm(alarm: Alarm, reading: Reading) -> PlainAlarm:
    return PlainAlarm(
        index=alarm.index,
        at=reading.name(alarm.index),
        parent=alarm.parent,
        points=alarm.points,
        effect=alarm.effect_percent,
        interval=(alarm.lower_percent, alarm.upper_percent),
        z=alarm.z,
        p=alarm.p_value,
        reason=alarm_reason(alarm, reading),
    )


def shape_lines(shape: Shape, reading: Reading, unit: str = "") -> list[str]:
    """A shape for people: the verdict, then what happened in order."""
    verdict, reason = verdict_of(shape, reading)
    lines = [f"{verdict:14}{reason}"]
    if shape.level is not None:
        noise = (
            "" if shape.noise_percent is None else f", noise {shape.noise_percent:.2g} % a point"
        )
        since = "" if shape.level_from is None else f" since {reading.name(shape.level_from)}"
        lines.append(f"  level {shape.level:.5g} {unit}".rstrip() + f"{since}{noise}, n {shape.n}")
    lines += [f"  {change.kind:12}{change_reason(change, reading)}" for change in shape.changes]
    if shape.alarm is not None and verdict != "inconclusive":
        lines.append(f"  {'alarm':12}{alarm_reason(shape.alarm, reading)}")
    return lines
