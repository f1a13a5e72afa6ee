"""Charts of the page Nightly: pure functions of frames."""

from typing import cast

import altair as alt
import pandas as pd

from gauntlet.hud import palette

_ROW_PX = 26
_AROUND_PX = 110  # the height that is given includes the axis and the legend
_WAYS = {
    "worse": (palette.VERDICTS["worse"].colour, "triangle-down"),
    "better": (palette.VERDICTS["better"].colour, "triangle-up"),
    "changed": (palette.VERDICTS["missing"].colour, "circle"),
}


def changes(top: pd.DataFrame) -> alt.LayerChart:
    """The largest changes of a night with their intervals. Needs ``findings.top_changes``."""
    y = alt.Y("what:N", sort=list(top["what"]), title=None, axis=alt.Axis(labelLimit=420))
    domain = list(_WAYS)
    legend = alt.Legend(orient="top")
    colours, shapes = zip(*_WAYS.values(), strict=True)
    colour = alt.Color(
        "way:N", title=None, legend=legend, scale=alt.Scale(domain=domain, range=list(colours))
    )
    shape = alt.Shape(
        "way:N", title=None, legend=legend, scale=alt.Scale(domain=domain, range=list(shapes))
    )
    tooltip = ["what", "kind", "said"]
    bars = (
        alt.Chart(top.dropna(subset=["low"]))
        .mark_rule(strokeWidth=2)
        .encode(x=alt.X("low:Q", title="change of the value (%)"), x2="high:Q", y=y, color=colour)
    )
    points = (
        alt.Chart(top)
        .mark_point(filled=True, size=80, opacity=1)
        .encode(
            x=alt.X("effect:Q", title="change of the value (%)"),
            y=y,
            color=colour,
            shape=shape,
            tooltip=tooltip,
        )
    )
    zero = (
        alt.Chart(pd.DataFrame({"x": [0.0]}))
        .mark_rule(strokeDash=[4, 3], color="#757575")
        .encode(x="x:Q")
    )
    layers = alt.layer(zero, bars, points, height=_ROW_PX * len(top) + _AROUND_PX)
    return cast("alt.LayerChart", layers)
