"""Describe one series of values: levels, what changed between them, and an alarm at its end."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from gauntlet.analyzer.changepoints.place import stretches
from gauntlet.analyzer.changepoints.scan import Array, Places
from gauntlet.analyzer.changepoints.segment import Segmentation, Step, finite, segment
from gauntlet.analyzer.changepoints.thresholds import SHORTEST_SERIES
from gauntlet.analyzer.history.alarm import alarm_at_end
from gauntlet.analyzer.history.levels import Level, change_between, level_of
from gauntlet.analyzer.history.residuals import outliers, variance_changes
from gauntlet.analyzer.history.shape import Alarm, Change, Shape, Stretch
from gauntlet.analyzer.history.trend import slow_drift

_RETURNED = 0.25
"""A step that undoes all but this share of the last one is a recovery."""


def describe(values: Sequence[float], *, false_alarm_rate: float = 0.01) -> Shape:
    """Describe a series in order of time; NaN where a point is missing.

    ``false_alarm_rate`` is the share of unchanged series' last points that raise an alarm. Raises
    ValueError for infinite values.
    """
    known, where = finite(values)
    if len(known) == 0:
        return Shape(reason="nothing was measured")
    if np.ptp(known) == 0:
        value = float(known[0])
        why = "one point" if len(known) == 1 else "constant: no point differs from another"
        return Shape(
            levels=(_stretch(level_of(known, 0, len(known), 0.0), where),),
            level=value,
            level_from=int(where[0]),
            noise_percent=None,
            n=len(known),
            reason=why,
        )
    found = segment(known)
    cuts = _cuts(found)
    levels = _levels(known, cuts, found.memory)
    present = levels[-1]
    last = present.begin
    changes = [
        *_steps(known, found),
        *_drifts(known, found),
        *_leaning(known, found),
        *outliers(known, cuts, found.drifts),
        *variance_changes(known, cuts, found.drifts),
    ]
    alarm = alarm_at_end(known, last, found.memory, false_alarm_rate)
    short = len(known) < SHORTEST_SERIES
    ramps = [change for change in changes if change.kind == "drift"]
    return Shape(
        changes=tuple(sorted((_moved(c, where) for c in changes), key=lambda c: c.index)),
        levels=tuple(_stretch(each, where) for each in levels if not _on_ramp(each, ramps)),
        alarm=None if alarm is None else _moved_alarm(alarm, where),
        level=present.value,
        level_from=int(where[last]),
        noise_percent=present.noise_percent,
        n=len(known),
        reason=f"{len(known)} points: fewer than {SHORTEST_SERIES} show no step" if short else "",
    )


def _cuts(found: Segmentation) -> list[int]:
    """Where levels begin: at steps, and at both ends of drifts."""
    ends = [end for drift in found.drifts for end in drift]
    return sorted({*(step.index for step in found.steps), *ends})


def _levels(values: Array, cuts: Sequence[int], memory: float) -> list[Level]:
    bounds = sorted({0, *(cut for cut in cuts if cut < len(values)), len(values)})
    return [level_of(values, begin, end, memory) for begin, end in pairwise(bounds)]


def _steps(values: Array, found: Segmentation) -> list[Change]:
    """Steps with their effects; one that goes back to the level before the last is a recovery."""
    steps: list[Change] = []
    before_last: Level | None = None
    ramps = sorted(end for drift in found.drifts for end in drift)
    for step, begin, end in _around(found.steps, ramps, len(values)):
        before = level_of(values, begin, step.index, found.memory)
        after = level_of(values, step.index, end, found.memory)
        change = change_between(before, after, step.p_value)
        back = (
            before_last is not None
            and before_last.end == begin
            and _is_back(before_last, before, after)
        )
        steps.append(
            replace(
                change,
                kind="recovery" if back else "step",
                index=step.index,
                first=step.first,
                last=step.last,
            )
        )
        before_last = before
    return steps


def _around(steps: Sequence[Step], ramps: Sequence[int], count: int) -> list[tuple[Step, int, int]]:
    """Each step with the beginning of the level before it and the end of that after it."""
    indices = [step.index for step in steps]
    found = []
    for step, (begin, place, end) in zip(steps, stretches(indices, count), strict=True):
        inner = [ramp for ramp in ramps if begin < ramp < place]
        outer = [ramp for ramp in ramps if place < ramp < end]
        found.append((step, max([begin, *inner]), min([end, *outer])))
    return found


def _is_back(first: Level, second: Level, third: Level) -> bool:
    return abs(third.value - first.value) <= _RETURNED * abs(second.value - first.value)


def _drifts(values: Array, found: Segmentation) -> list[Change]:
    """Drifts: the level after the ramp against the one before it."""
    drifts = []
    steps = [step.index for step in found.steps]
    for ramp in found.drifts:
        begin = max([0, *(step for step in steps if step <= ramp.begin)])
        end = min([len(values), *(step for step in steps if step >= ramp.end)])
        # A ramp may begin with the series or still rise at its end: its own ends stand in.
        edge = max(2, (ramp.end - ramp.begin) // 8)
        before = level_of(values, begin, max(ramp.begin, begin + edge), found.memory)
        after = level_of(values, min(ramp.end, end - edge), end, found.memory)
        change = change_between(before, after, None)
        drifts.append(
            replace(
                change,
                kind="drift",
                index=ramp.begin,
                first=ramp.begin,
                last=min(ramp.end, len(values) - 1),
                end=ramp.end if ramp.end < len(values) else None,
                method=f"ramp against stairs by an information criterion, then {change.method}",
            )
        )
    return drifts


def _leaning(values: Array, found: Segmentation) -> list[Change]:
    if found.steps or found.drifts:
        return []
    drift = slow_drift(values)
    return [] if drift is None else [drift]


def _on_ramp(level: Level, ramps: Sequence[Change]) -> bool:
    return any(
        ramp.index <= level.begin and (ramp.end is None or level.end <= ramp.end) for ramp in ramps
    )


def _stretch(level: Level, where: Places) -> Stretch:
    """A level by the indices of the series instead of those among known points."""
    lower, upper = level.bounds or (None, None)
    return Stretch(
        first=int(where[level.begin]),
        last=int(where[level.end - 1]),
        value=level.value,
        lower=lower,
        upper=upper,
        n=level.n,
    )


def _moved(change: Change, where: Places) -> Change:
    """From indices among known points to those of the series."""
    end = change.end
    return replace(
        change,
        index=int(where[min(change.index, len(where) - 1)]),
        first=int(where[min(change.first, len(where) - 1)]),
        last=int(where[change.last]),
        end=None if end is None or end >= len(where) else int(where[end]),
    )


def _moved_alarm(alarm: Alarm, where: Places) -> Alarm:
    return replace(alarm, index=int(where[alarm.index]), parent=int(where[alarm.parent]))
