"""Charts of durations and costs: pure functions, no Streamlit and no warehouse."""

from typing import cast

import altair as alt
import pandas as pd

from gauntlet.hud import palette

_ROW_PX = 20
_CHART_PX = 300
_FRAME_PX = 90  # legend and axis, which the height includes
_NAMES = alt.Axis(labelLimit=320, labelOverlap=False)
_BLUE, _RED = palette.SERIES[:2]
_GREY = palette.SERIES[-1]
_PIECES = {"wait": "#9ca3af", "run": _BLUE, "run, on the frontier": _RED}
_THICKNESS = {"wait": 4, "run": 12, "run, on the frontier": 12}


def waterfall(pieces: pd.DataFrame) -> alt.Chart:
    """Bars from when a job could run to its end: waits thin, runs thick, the frontier marked."""
    order = list(dict.fromkeys(pieces["label"]))
    names = list(_PIECES)
    drawn = (
        alt.Chart(pieces, height=_ROW_PX * len(order) + _FRAME_PX)
        .mark_bar()
        .encode(
            x=alt.X("begin_min:Q", title="minutes since the build was made"),
            x2="end_min:Q",
            y=alt.Y("label:N", sort=order, title=None, axis=_NAMES),
            color=alt.Color(
                "what:N",
                scale=alt.Scale(domain=names, range=list(_PIECES.values())),
                legend=alt.Legend(orient="top", title=None, labelLimit=300),
            ),
            size=alt.Size(
                "what:N",
                scale=alt.Scale(domain=names, range=list(_THICKNESS.values())),
                legend=None,
            ),
            tooltip=[
                alt.Tooltip("label:N", title="job"),
                alt.Tooltip("what:N"),
                alt.Tooltip("minutes:Q", format=".1f"),
                alt.Tooltip("begin_min:Q", title="from minute", format=".1f"),
                alt.Tooltip("end_min:Q", title="to minute", format=".1f"),
                alt.Tooltip("state:N"),
                alt.Tooltip("queue:N"),
                alt.Tooltip("host:N"),
                alt.Tooltip("on_path:N", title="on the frontier"),
            ],
        )
    )
    return cast("alt.Chart", drawn)


def trend(frame: pd.DataFrame, measure: str) -> alt.Chart:
    """Quantiles of one measure of a job, day by day."""
    names = ["p50", "p90", "p99"]
    titles = {"run": "run of attempts that passed", "wait": "wait for an agent"}
    drawn = (
        alt.Chart(
            frame[frame["measure"] == measure],
            height=_CHART_PX,
            title=alt.TitleParams(f"{titles[measure]} (lower is better)", anchor="start"),
        )
        .mark_line(strokeWidth=1.5, point={"size": 10}, invalid="break-paths-show-path-domains")
        .encode(
            x=alt.X("day:T", title="day (UTC)", scale=alt.Scale(type="utc")),
            y=alt.Y("minutes:Q", title="minutes"),
            color=alt.Color(
                "quantile:N",
                scale=alt.Scale(domain=names, range=[_BLUE, palette.SERIES[3], _RED]),
                legend=alt.Legend(orient="top", title=None),
            ),
            strokeDash=alt.StrokeDash(
                "quantile:N", scale=alt.Scale(domain=names, range=[[1, 0], [6, 3], [2, 2]])
            ),
            tooltip=[
                "date",
                "quantile",
                alt.Tooltip("minutes:Q", format=".1f"),
                "attempts",
                "passed",
            ],
        )
    )
    return cast("alt.Chart", drawn)


def costs(frame: pd.DataFrame) -> alt.Chart:
    """What each group cost, stacked by vendor, the dearest first."""
    vendors = sorted(frame["vendor"].unique())
    drawn = (
        alt.Chart(frame, height=_ROW_PX * frame["group_key"].nunique() + _FRAME_PX)
        .mark_bar()
        .encode(
            x=alt.X("sum(cost_usd):Q", title="USD (lower is better)", axis=alt.Axis(format="~s")),
            y=alt.Y(
                "group_key:N",
                sort="-x",
                title=None,
                axis=_NAMES,
            ),
            color=alt.Color(
                "vendor:N",
                scale=alt.Scale(domain=vendors, range=list(palette.SERIES)),
                legend=alt.Legend(orient="top", title=None),
            ),
            tooltip=[
                alt.Tooltip("group_key:N", title="group"),
                "vendor",
                alt.Tooltip("cost_usd:Q", title="USD", format=",.0f"),
                alt.Tooltip("hours:Q", format=",.1f"),
                alt.Tooltip("hours_without_price:Q", title="hours without a price", format=",.1f"),
                alt.Tooltip("attempts:Q", format=","),
            ],
        )
    )
    return cast("alt.Chart", drawn)


def lost(frame: pd.DataFrame) -> alt.LayerChart:
    """Minutes lost by cause, the cost in words beside each bar."""
    # Room for the words right of the longest bar.
    scale = alt.Scale(domain=[0, 1.2 * float(frame["hours"].max())])
    base = alt.Chart(frame, height=_ROW_PX * len(frame) + _FRAME_PX).encode(
        x=alt.X("hours:Q", title="hours lost (lower is better)", scale=scale),
        y=alt.Y("cause:N", sort="-x", title=None, axis=_NAMES),
        tooltip=[
            "cause",
            alt.Tooltip("attempts:Q", format=","),
            alt.Tooltip("minutes:Q", format=",.0f"),
            alt.Tooltip("words:N", title="cost"),
            alt.Tooltip("attempts_without_price:Q", title="attempts without a price", format=","),
        ],
    )
    bars = base.mark_bar(color=_BLUE)
    words = base.mark_text(align="left", dx=4, color=_GREY).encode(text="words:N")
    return cast("alt.LayerChart", alt.layer(bars, words))
