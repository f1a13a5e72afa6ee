"""Shapes durations and costs into what is drawn."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from gauntlet.hud import palette
from gauntlet.hud.shell.times import Zone

# A mark for the eye, not a verdict: below it, a change is not pointed out.
_POINTED_OUT = 0.05
_GROUPS = 20

CHANGES = {
    "longer": replace(palette.VERDICTS["worse"], sign="▲"),
    "shorter": replace(palette.VERDICTS["better"], sign="▼"),
    "alike": replace(palette.JOB_STATES["not run"], sign="="),
    "new": replace(palette.VERDICTS["missing"], sign="✶"),
}

BUILD_SIGNS = {"passed": "✓", "failed": "✕", "running": "…", "canceled": "·", "blocked": "‖"}


def longest(rows: pd.DataFrame) -> pd.DataFrame:
    """Add ``direction`` and ``change_pct`` to rows of ``longest_jobs``."""
    change = pd.to_numeric(rows["change"])
    return rows.assign(
        direction=[_direction(each) for each in change],
        change_pct=100 * change,
        p50_min_before=pd.to_numeric(rows["p50_min_before"]),
    )


def _direction(change: float) -> str:
    if math.isnan(change):
        return "new"
    if abs(change) < _POINTED_OUT:
        return "alike"
    return "longer" if change > 0 else "shorter"


def trend(rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Rows of ``job_trend`` as a row for each day, measure and quantile, in minutes."""
    found = []
    for row in rows:
        for measure in ("run", "wait"):
            values = row[f"{measure}_s_p50_p90_p99"]
            for quantile, value in zip(("p50", "p90", "p99"), values, strict=True):
                found.append(
                    {
                        "day": pd.Timestamp(row["day"], tz="UTC"),
                        "date": str(row["day"]),
                        "measure": measure,
                        "quantile": quantile,
                        "minutes": None if pd.isna(value) else value / 60,
                        "attempts": row["attempts"],
                        "passed": row["passed"],
                    }
                )
    frame = pd.DataFrame(found)
    return frame.assign(minutes=pd.to_numeric(frame["minutes"])) if found else frame


def dearest(costs: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Costs of the groups that cost most, and how many groups are left out."""
    known = costs.assign(vendor=[each or "no price list" for each in costs["vendor"]])
    by_group = known.groupby("group_key")["cost_usd"].sum().sort_values(ascending=False)
    kept = list(by_group.index[:_GROUPS])
    return known[known["group_key"].isin(kept)], len(by_group) - len(kept)


def build_text(row: dict[str, Any], zone: Zone) -> str:
    """A build in a few words, for a link."""
    sign = BUILD_SIGNS.get(row["state"], "?")
    took = "" if pd.isna(row["minutes"]) else f" {row['minutes']:.0f} min"
    return f"#{row['number']} {sign} {row['state']}{took} ({zone.text(row['created_at'])})"
