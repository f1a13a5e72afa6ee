"""Charts of the page Jobs and tests: pure functions of frames."""

from typing import cast

import altair as alt
import pandas as pd

from gauntlet.hud import palette

_CHART_PX = 220
_LEGEND = alt.Legend(orient="top", symbolType="stroke")
_DASHES = [[1, 0], [4, 3]]


def durations(days: pd.DataFrame, *, unit: str) -> alt.Chart:
    """Durations by day; needs the columns day, quantile, value, attempts and failed."""
    names = list(days["quantile"].unique())
    scale = alt.Scale(domain=names, range=list(palette.SERIES[: len(names)]))
    shown = days.assign(shown=days["day"].astype(str), day=pd.to_datetime(days["day"], utc=True))
    return cast(
        "alt.Chart",
        alt.Chart(shown, height=_CHART_PX)
        .mark_line(point=True)
        .encode(
            x=alt.X(
                "day:T", title=None, scale=alt.Scale(type="utc"), axis=alt.Axis(format="%b %d")
            ),
            y=alt.Y("value:Q", title=f"{unit} (lower is better)"),
            color=alt.Color("quantile:N", scale=scale, title=None, legend=_LEGEND),
            strokeDash=alt.StrokeDash(
                "quantile:N", title=None, scale=alt.Scale(domain=names, range=_DASHES)
            ),
            tooltip=[
                alt.Tooltip("shown:N", title="day (UTC)"),
                alt.Tooltip("quantile:N", title="statistic"),
                alt.Tooltip("value:Q", title=unit, format=",.1f"),
                alt.Tooltip("attempts:Q", title="runs"),
                alt.Tooltip("failed:Q"),
            ],
        ),
    )
