"""Charts of one run: pure functions, no Streamlit and no warehouse."""

from typing import cast

import altair as alt
import pandas as pd

from gauntlet.hud.charts import side_colour

_CHART_PX = 300


def pairs(metrics: pd.DataFrame, workload: str, metric: str, statistic: str) -> alt.LayerChart:
    """Every repetition of one statistic, pair by pair, both sides joined."""
    chosen = (
        (metrics["workload"] == workload)
        & (metrics["metric"] == metric)
        & (metrics["statistic"] == statistic)
    )
    shown = metrics[chosen].assign(pair=metrics["pair"] + 1)
    unit = shown["unit"].iloc[0] if len(shown) else ""
    title = f"{metric.removesuffix('_ms')} {statistic} ({unit})"
    pair = alt.X("pair:O", title="pair", axis=alt.Axis(labelAngle=0))
    scale = alt.Scale(zero=False)
    joined = (
        alt.Chart(shown)
        .mark_rule(color="#bdbdbd")
        .encode(x=pair, y=alt.Y("min(value):Q", title=title, scale=scale), y2="max(value):Q")
    )
    points = (
        alt.Chart(shown)
        .mark_circle(size=80, opacity=1)
        .encode(
            x=pair,
            y=alt.Y("value:Q", title=title, scale=scale),
            color=side_colour(),
            tooltip=["side", "pair", alt.Tooltip("value:Q", format=".2f")],
        )
    )
    return cast("alt.LayerChart", alt.layer(joined, points, height=_CHART_PX))
