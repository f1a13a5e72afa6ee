"""Charts of the page Main: pure functions of frames."""

from typing import cast

import altair as alt
import pandas as pd

from gauntlet.hud import palette

_CHART_PX = 220
_LEGEND = alt.Legend(orient="top", symbolType="stroke")
_DASHES = [[1, 0], [4, 3]]
_GREEN = palette.JOB_STATES["passed"].colour
_NAMES = {"p50_min": "p50", "p90_min": "p90"}


def time_to_signal(days: pd.DataFrame) -> alt.Chart:
    """p50 and p90 of the time from a build's creation to its last job's end, in minutes, by day."""
    columns = ["day", "builds"]
    long = days[[*columns, *_NAMES]].melt(columns, var_name="column", value_name="minutes")
    long["quantile"] = long["column"].map(_NAMES)
    long["shown"] = long["day"].astype(str)
    names = list(_NAMES.values())
    look = alt.Scale(domain=names, range=list(palette.SERIES[:2]))
    return cast(
        "alt.Chart",
        alt.Chart(_dated(long), height=_CHART_PX)
        .mark_line(point=True)
        .encode(
            x=_day(),
            y=alt.Y("minutes:Q", title="minutes (lower is better)"),
            color=alt.Color("quantile:N", scale=look, title=None, legend=_LEGEND),
            strokeDash=alt.StrokeDash(
                "quantile:N", title=None, scale=alt.Scale(domain=names, range=_DASHES)
            ),
            tooltip=[
                alt.Tooltip("shown:N", title="day (UTC)"),
                alt.Tooltip("quantile:N"),
                alt.Tooltip("minutes:Q", format=".0f"),
                alt.Tooltip("builds:Q"),
            ],
        ),
    )


def green_share(days: pd.DataFrame) -> alt.Chart:
    """Share of each day's commits whose newest build ended green."""
    shown = _dated(days.assign(shown=days["day"].astype(str)))
    return cast(
        "alt.Chart",
        alt.Chart(shown, height=_CHART_PX)
        .mark_line(point=alt.OverlayMarkDef(color=_GREEN), color=_GREEN)
        .encode(
            x=_day(),
            y=alt.Y(
                "share:Q",
                title="green (higher is better)",
                axis=alt.Axis(format="%"),
                scale=alt.Scale(domain=[0, 1]),
            ),
            tooltip=[
                alt.Tooltip("shown:N", title="day (UTC)"),
                alt.Tooltip("share:Q", format=".0%"),
                alt.Tooltip("green:Q", title="green"),
                alt.Tooltip("commits:Q", title="built"),
            ],
        ),
    )


def _dated(days: pd.DataFrame) -> pd.DataFrame:
    """Days as instants, so that a day without data is a gap in the axis."""
    return days.assign(day=pd.to_datetime(days["day"], utc=True))


def _day() -> alt.X:
    return alt.X("day:T", title=None, scale=alt.Scale(type="utc"), axis=alt.Axis(format="%b %d"))
