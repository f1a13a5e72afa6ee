"""Charts from frames: pure functions, no Streamlit and no warehouse."""

from typing import cast

import altair as alt
import pandas as pd

from gauntlet.analyzer.verdict import objective_label
from gauntlet.hud import palette

_ROW_PX = 34
_CHART_PX = 300


def _side_colour() -> alt.Color:
    scale = alt.Scale(domain=list(palette.SIDES), range=list(palette.SIDES.values()))
    return alt.Color("side:N", scale=scale, title=None, legend=alt.Legend(orient="top"))


def _outcome_colour() -> alt.Color:
    colours = [look.colour for look in palette.VERDICTS.values()]
    scale = alt.Scale(domain=list(palette.VERDICTS), range=colours)
    return alt.Color("outcome:N", scale=scale, legend=None)


def effects(verdicts: pd.DataFrame) -> alt.LayerChart:
    """Loss of every objective in units of its margin, with its interval; 1 is the margin.

    Needs the columns subject, outcome, effect, lower, upper, higher_is_better, margin,
    unit, reason.
    """
    shown = verdicts.dropna(subset=["effect"]).copy()
    shown["objective"] = shown["subject"].map(objective_label)
    sign = shown["higher_is_better"].map({True: -1.0, False: 1.0})
    for name in ("effect", "lower", "upper"):
        shown[f"{name}_in_margins"] = sign * shown[name] / shown["margin"]
    order = list(shown["objective"])
    objective = alt.Y("objective:N", sort=order, title=None, axis=alt.Axis(labelLimit=190))
    axis = alt.X("lower_in_margins:Q", title="loss in margins (below 0: a gain)")
    tooltip = ["objective", "outcome", "reason"]
    interval = (
        alt.Chart(shown)
        .mark_rule(strokeWidth=3)
        .encode(
            x=axis,
            x2="upper_in_margins:Q",
            y=objective,
            color=_outcome_colour(),
            tooltip=tooltip,
        )
    )
    point = (
        alt.Chart(shown)
        .mark_circle(size=90, opacity=1)
        .encode(x="effect_in_margins:Q", y=objective, color=_outcome_colour(), tooltip=tooltip)
    )
    marks = pd.DataFrame({"x": [0.0, 1.0], "what": ["no change", "margin"]})
    rules = (
        alt.Chart(marks)
        .mark_rule(strokeDash=[4, 3], color="#757575")
        .encode(x="x:Q", tooltip=["what"])
    )
    layers = alt.layer(
        rules,
        interval,
        point,
        height=_ROW_PX * max(len(shown), 1),
        padding={"right": 20, "bottom": 10},
    )
    return cast("alt.LayerChart", layers)


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
            color=_side_colour(),
            tooltip=["side", "pair", alt.Tooltip("value:Q", format=".2f")],
        )
    )
    return cast("alt.LayerChart", alt.layer(joined, points, height=_CHART_PX))


def distribution(requests: pd.DataFrame, workload: str, metric: str) -> alt.Chart:
    """Empirical distribution of a latency over all requests of each side."""
    shown = requests[requests["workload"] == workload].dropna(subset=[metric])
    chart = (
        alt.Chart(shown, height=_CHART_PX)
        .transform_window(rank="row_number()", sort=[alt.SortField(metric)], groupby=["side"])
        .transform_joinaggregate(total=f"count({metric})", groupby=["side"])
        .transform_calculate(share="datum.rank / datum.total")
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=alt.X(
                f"{metric}:Q",
                title=f"{metric.removesuffix('_ms')} (ms)",
                scale=alt.Scale(zero=False),
            ),
            y=alt.Y("share:Q", title="share of requests", axis=alt.Axis(format="%")),
            color=_side_colour(),
        )
    )
    return cast("alt.Chart", chart)
