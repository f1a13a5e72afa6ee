"""How long jobs wait on each queue, and whether that is usual at this hour. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from statistics import median
from typing import Any, NamedTuple

from gauntlet.analyzer.alerts.model import Cause, Point, Reading

WEEK_S = 604_800
_OLD_SAMPLE_S = 3600
_SEVERAL = 3
_LEAST_WEEKS = 2


class Agents(NamedTuple):
    """The agents of a queue as they were last seen; None where nobody said."""

    total: int | None
    idle: int | None
    age_s: float


def queue_readings(
    queues: Iterable[str],
    waiting: Sequence[Mapping[str, Any]],
    agents: Mapping[str, Agents],
    now: datetime,
    *,
    steps: int,
    step_s: int,
    weeks: int,
) -> list[Reading]:
    """Read the wait of every queue in minutes: the 90th percentile of those who wait now.

    ``waiting`` are rows of the query ``waiting_at``; an instant without one had nobody waiting.
    """
    rows: dict[str, dict[int, Mapping[str, Any]]] = defaultdict(dict)
    for row in waiting:
        rows[str(row["queue"])][int(row["ago_s"])] = row
    found = []
    for queue in sorted({*queues, *rows}):
        theirs = rows.get(queue, {})
        series = tuple(
            Point(now - timedelta(seconds=n * step_s), _minutes(theirs.get(n * step_s)))
            for n in range(steps - 1, -1, -1)
        )
        before = [_minutes(theirs.get(week * WEEK_S)) for week in range(1, weeks + 1)]
        found.append(_reading(queue, series, before, theirs.get(0), agents.get(queue)))
    return found


def _reading(
    queue: str,
    series: tuple[Point, ...],
    before: Sequence[float],
    present: Mapping[str, Any] | None,
    agents: Agents | None,
) -> Reading:
    # Weeks in which nobody waited at that hour are as much a part of what is usual.
    usual = median(before) if sum(value > 0 for value in before) >= _LEAST_WEEKS else None
    value = series[-1].value
    state, said = _state(agents)
    count = 0 if present is None else int(present["waiting"])
    reason = f"{count} jobs wait on {queue}, nine of ten for less than {value:.0f} min; {said}"
    if usual:
        reason += f"; usually {usual:.0f} min at this hour"
    return Reading(
        measure="queue-wait",
        name=queue,
        value=round(value, 2),
        reason=reason,
        series=series,
        usual=usual,
        causes=(Cause(f"queues with {state}", _SEVERAL),),
        facts={"waiting": count, "agents": agents.total if agents else None, "state": state},
    )


def _state(agents: Agents | None) -> tuple[str, str]:
    """What keeps jobs waiting, as far as the agents tell."""
    if agents is None or agents.total is None or agents.age_s > _OLD_SAMPLE_S:
        return "unknown agents", "nobody says how many agents it has"
    if agents.total == 0:
        return "no agents", "no agent is connected"
    if agents.idle:
        return "idle agents", f"{agents.idle} of {agents.total} agents are idle all the same"
    return "busy agents", f"all {agents.total} agents are busy"


def _minutes(row: Mapping[str, Any] | None) -> float:
    return 0.0 if row is None else float(row["p90_wait_s"]) / 60
