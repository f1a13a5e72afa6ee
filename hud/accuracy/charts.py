"""Charts of the page Accuracy: pure functions of frames."""

from typing import cast

import altair as alt
import pandas as pd

from gauntlet.hud import palette
from gauntlet.hud.accuracy.frames import FIRST, REFUSED, SAME

_CHART_PX = 360
_SHAPES = {SAME: "circle", FIRST: "diamond", REFUSED: "cross"}
_COLOURS = {SAME: palette.SERIES[0], FIRST: palette.SERIES[4], REFUSED: palette.SERIES[7]}
_LEGEND = alt.Legend(orient="top", labelLimit=240)
_TOOLTIP = [
    "measured", "score", "interval", "n", "whole", "build", "harness", "configuration", "kind",
]  # fmt: skip


def scores(points: pd.DataFrame, *, metric: str, direction: str, unit: str) -> alt.LayerChart:
    """A score over time with its 95 % intervals; hollow where it is partial.

    Needs what :func:`frames.score_points` makes.
    """
    way = {"higher": "higher is better", "lower": "lower is better"}.get(direction, direction)
    title = f"{metric} ({unit}, {way})" if unit else f"{metric} ({way})"
    kinds = list(_SHAPES)
    x = alt.X("at:T", title=None, scale=alt.Scale(type="utc"))
    y = alt.Y("value:Q", title=title, scale=alt.Scale(zero=False))
    colour = alt.Color(
        "kind:N",
        title=None,
        scale=alt.Scale(domain=kinds, range=list(_COLOURS.values())),
        legend=_LEGEND,
    )
    shape = alt.Shape(
        "kind:N",
        title=None,
        scale=alt.Scale(domain=kinds, range=list(_SHAPES.values())),
        legend=_LEGEND,
    )
    size = alt.condition(alt.datum.kind == SAME, alt.value(45), alt.value(140))
    bars = (
        alt.Chart(points.dropna(subset=["low"]))
        .mark_rule(opacity=0.4)
        .encode(x=x, y=alt.Y("low:Q", title=title), y2="high:Q", color=colour)
    )
    whole = (
        alt.Chart(points[~points["partial"]])
        .mark_point(filled=True, opacity=1)
        .encode(x=x, y=y, color=colour, shape=shape, size=size, tooltip=_TOOLTIP)
    )
    partial = (
        alt.Chart(points[points["partial"]])
        .mark_point(filled=False, size=60, opacity=1)
        .encode(x=x, y=y, color=colour, shape=shape, tooltip=_TOOLTIP)
    )
    changes = (
        alt.Chart(points[points["kind"] == FIRST])
        .mark_rule(strokeDash=[4, 3], color=_COLOURS[FIRST], opacity=0.6)
        .encode(x=x, tooltip=_TOOLTIP)
    )
    # A layer of nothing is an image without a name to a screen reader.
    drawn = [layer for layer in (changes, bars, whole, partial) if len(layer.data)]
    layers = alt.layer(*drawn, height=_CHART_PX)
    return cast("alt.LayerChart", layers)
