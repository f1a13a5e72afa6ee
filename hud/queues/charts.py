"""Charts of one queue over time, aligned below each other."""

from typing import TypeAlias, cast

import altair as alt
import pandas as pd

from gauntlet.hud import palette

_CHART_PX = 200
_WAITING = "Jobs waiting (lower is better)"
_AXIS_PX = 64  # one width for all, so that the same instant stands in the same place
_BLUE, _RED, _GREEN, _YELLOW = palette.SERIES[:4]
_GREY = palette.SERIES[-1]

Domain: TypeAlias = tuple[pd.Timestamp, pd.Timestamp]


def domain(*frames: pd.DataFrame) -> Domain:
    """From the first to the last instant of all frames that hold any."""
    held = [frame["at"] for frame in frames if len(frame)]
    return min(each.min() for each in held), max(each.max() for each in held)


def waiting(history: pd.DataFrame, usual: pd.DataFrame, name: str, span: Domain) -> alt.LayerChart:
    """Jobs that wait, and how many usually do in the hours to come; ``name`` says what is usual."""
    line = _line(history, "most_waiting", "waiting", span, "jobs")
    band = _band(usual, ("usual_waiting", "high_waiting"), name, span, "jobs")
    return _layered(
        _WAITING, *band, line, colours={"waiting": _RED} | ({name: _GREY} if band else {})
    )


def agents(history: pd.DataFrame, usual: pd.DataFrame, name: str, span: Domain) -> alt.LayerChart:
    """Agents that work, all agents, and how many usually work in the hours to come."""
    busy = _line(history, "agents_busy", "busy", span, "agents")
    total = _line(history, "agents_total", "all agents", span, "agents", dash=[2, 2])
    band = _band(usual, ("usual_busy", "high_busy"), name, span, "agents")
    colours = {"busy": _BLUE, "all agents": _GREEN} | ({name: _GREY} if band else {})
    return _layered("Agents", *band, total, busy, colours=colours)


def oldest(history: pd.DataFrame, span: Domain) -> alt.LayerChart:
    """How long the job had waited that waited longest."""
    line = _line(history, "oldest_wait_min", "oldest wait", span, "minutes")
    return _layered("Oldest wait (lower is better)", line, colours={"oldest wait": _YELLOW})


def flow(frame: pd.DataFrame, span: Domain, step: str) -> alt.LayerChart:
    """Jobs that came, began and ended in each step."""
    names = {"came": _RED, "began": _BLUE, "ended": _GREEN}
    dashes = {"came": [1, 0], "began": [6, 3], "ended": [2, 2]}
    lines = [_line(frame, name, name, span, f"jobs in {step}", dash=dashes[name]) for name in names]
    return _layered("Jobs that came, began and ended", *lines, colours=names)


def waits(frame: pd.DataFrame, span: Domain) -> alt.LayerChart:
    """How long those jobs had waited that began in each step."""
    half = _line(frame, "p50_wait_min", "half waited less", span, "minutes")
    most = _line(frame, "p90_wait_min", "nine in ten waited less", span, "minutes", dash=[6, 3])
    return _layered(
        "How long jobs had waited when they began (lower is better)",
        half,
        most,
        colours={"half waited less": _BLUE, "nine in ten waited less": _RED},
    )


def _band(
    usual: pd.DataFrame, columns: tuple[str, str], name: str, span: Domain, title: str
) -> tuple[alt.Chart, ...]:
    """The usual load: its median, and a band up to its 90 % quantile."""
    if usual.empty:
        return ()
    middle, high = columns
    base = alt.Chart(usual.assign(series=name)).encode(
        x=_x(span),
        y=_y(middle, title),
        tooltip=[
            alt.Tooltip("when:N", title="hour"),
            alt.Tooltip(f"{middle}:Q", title="usual (median)", format=".3~g"),
            alt.Tooltip(f"{high}:Q", title="nine in ten at most", format=".3~g"),
            alt.Tooltip("weeks:Q", title="weeks counted"),
        ],
    )
    band = base.mark_area(opacity=0.25).encode(y2=f"{high}:Q")
    return band, base.mark_line(strokeDash=[4, 3], strokeWidth=1.5)


def _line(
    frame: pd.DataFrame,
    column: str,
    name: str,
    span: Domain,
    title: str,
    *,
    dash: list[int] | None = None,
) -> alt.Chart:
    drawn = (
        alt.Chart(frame.assign(series=name))
        # A lone point between two gaps is no line; the small mark keeps it in sight.
        .mark_line(
            strokeWidth=1.5,
            strokeDash=dash or [1, 0],
            point={"size": 8},
            clip=True,
            invalid="break-paths-show-path-domains",
        )
        .encode(
            x=_x(span),
            y=_y(column, title),
            tooltip=[
                alt.Tooltip("when:N", title="step"),
                alt.Tooltip(f"{column}:Q", title=name, format=".3~g"),
            ],
        )
    )
    return cast("alt.Chart", drawn)


def _x(span: Domain) -> alt.X:
    limits = [_instant(each) for each in span]
    digits = "%H:%M" if span[1] - span[0] <= pd.Timedelta(days=2) else "%d %b"
    axis = alt.Axis(format=digits)
    return alt.X("at:T", title=None, axis=axis, scale=alt.Scale(type="utc", domain=limits))


def _instant(at: pd.Timestamp) -> alt.DateTime:
    return alt.DateTime(
        year=at.year, month=at.month, date=at.day, hours=at.hour, minutes=at.minute, utc=True
    )


def _y(column: str, title: str) -> alt.Y:
    axis = alt.Axis(minExtent=_AXIS_PX, maxExtent=_AXIS_PX, tickCount=4)
    return alt.Y(f"{column}:Q", title=title, axis=axis, scale=alt.Scale(zero=True))


def _layered(title: str, *layers: alt.Chart, colours: dict[str, str]) -> alt.LayerChart:
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    legend = alt.Legend(orient="top", title=None, labelLimit=400, symbolOpacity=1)
    heading = alt.TitleParams(title, anchor="start", fontSize=14)
    colour = alt.Color("series:N", scale=scale, legend=legend)
    drawn = alt.layer(
        *(each.encode(color=colour) for each in layers), height=_CHART_PX, title=heading
    )
    return cast("alt.LayerChart", drawn)
