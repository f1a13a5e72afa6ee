"""Shapes what the warehouse says about queues into what is drawn."""

from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from gauntlet.hud import palette
from gauntlet.hud.queues.advice import Figures
from gauntlet.hud.shell.times import Zone

STATES = {
    "congested": replace(palette.JOB_STATES["failed"], sign="▲"),
    "busy": replace(palette.JOB_STATES["flaky"], sign="◐"),
    "idle": replace(palette.JOB_STATES["passed"], sign="○"),
    "silent": replace(palette.JOB_STATES["blocked"], sign="∅"),
    "unknown": replace(palette.JOB_STATES["not run"], sign="?"),
}
ALERTS = {"alert": replace(palette.JOB_STATES["failed"], sign="⚑")}
_SILENT = pd.Timedelta(minutes=15)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """How far back a history goes, in what steps, and how far ahead the usual load is drawn."""

    days: int
    step_min: int
    ahead_h: int
    flow_step_min: int


SPANS = {
    "1d": Span(days=1, step_min=10, ahead_h=12, flow_step_min=60),
    "7d": Span(days=7, step_min=60, ahead_h=48, flow_step_min=120),
    "30d": Span(days=30, step_min=180, ahead_h=167, flow_step_min=1440),
    "90d": Span(days=90, step_min=720, ahead_h=167, flow_step_min=1440),
}


def now(rows: pd.DataFrame) -> pd.DataFrame:
    """Add ``state`` and ``oldest_wait_min`` to the rows of ``queues_now``, worst first.

    A queue is silent where its newest sample is older than the newest of all by 15 minutes; how
    old that one is is said once for the whole page.
    """
    newest = rows["sampled_at"].max()
    shown = rows.assign(
        state=[_state(row, newest) for row in rows.to_dict("records")],
        oldest_wait_min=pd.to_numeric(rows["oldest_wait_s"]) / 60,
    )
    rank = shown["state"].map({state: n for n, state in enumerate(STATES)})
    ordered = shown.assign(rank=rank).sort_values(
        ["rank", "oldest_wait_min", "jobs_waiting"],
        ascending=[True, False, False],
        kind="stable",
    )
    return ordered.drop(columns="rank")


def _state(row: dict[Any, Any], newest: pd.Timestamp) -> str:
    if newest - row["sampled_at"] > _SILENT:
        return "silent"
    if row["congested"]:
        return "congested"
    if pd.isna(row["jobs_waiting"]) and pd.isna(row["agents_idle"]):
        return "unknown"
    waits = not pd.isna(row["jobs_waiting"]) and row["jobs_waiting"] > 0
    full = not pd.isna(row["agents_idle"]) and row["agents_idle"] == 0
    return "busy" if waits or full else "idle"


def figures(row: dict[Any, Any], rates: dict[str, Any] | None) -> Figures:
    """A row of ``queues_now`` and one of ``queue_rates`` as what advice is made of."""
    known = rates or {}
    return Figures(
        waiting=_whole(row["jobs_waiting"]),
        idle=_whole(row["agents_idle"]),
        busy=_whole(row["agents_busy"]),
        total=_whole(row["agents_total"]),
        oldest_wait_s=None if pd.isna(row["oldest_wait_s"]) else float(row["oldest_wait_s"]),
        came_per_hour=known.get("came_per_hour"),
        began_per_hour=known.get("began_per_hour"),
    )


def _whole(value: object) -> int | None:
    return None if pd.isna(value) else int(value)  # type: ignore[call-overload]


def history(rows: pd.DataFrame, step_min: int, zone: Zone) -> pd.DataFrame:
    """Rows of ``queue_history`` with an empty row for each step without samples, so that charts
    show a gap; ``at`` is the wall clock, ``when`` the words for it.
    """
    step = pd.Timedelta(minutes=step_min)
    steps = pd.date_range(rows["step"].min(), rows["step"].max(), freq=step, name="step")
    whole = rows.set_index("step").reindex(steps).reset_index()
    numbers = ("agents_total", "agents_busy", "most_waiting", "mean_waiting", "oldest_wait_s")
    for name in numbers:
        whole[name] = pd.to_numeric(whole[name])
    return timed(whole.assign(oldest_wait_min=whole["oldest_wait_s"] / 60), "step", zone)


def flow(rows: pd.DataFrame, zone: Zone) -> pd.DataFrame:
    """Rows of ``queue_flow`` with times to draw and waits in minutes."""
    waits = {
        f"{name}_wait_min": pd.to_numeric(rows[f"{name}_wait_s"]) / 60 for name in ("p50", "p90")
    }
    return timed(rows.assign(**waits), "step", zone)


def timed(rows: pd.DataFrame, column: str, zone: Zone) -> pd.DataFrame:
    """Add ``at``, the wall clock of an instant, and ``when``, the words for it."""
    words = [f"{zone.text(instant)} {zone.name}" for instant in rows[column]]
    return rows.assign(at=zone.wall(rows[column]), when=words)
