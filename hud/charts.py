"""Charts that several pages draw: pure functions, no Streamlit and no warehouse."""

from typing import cast

import altair as alt
import pandas as pd

from gauntlet.analyzer.verdict import objective_label
from gauntlet.hud import palette

_ROW_PX, _DENSE_ROW_PX, _DENSE = 34, 22, 14
_LABEL_PX = 380
_CHART_PX = 300


def side_colour() -> alt.Color:
    """The two sides of a comparison, with a legend."""
    scale = alt.Scale(domain=list(palette.SIDES), range=list(palette.SIDES.values()))
    return alt.Color(
        "side:N", scale=scale, title=None, legend=alt.Legend(orient="top", symbolType="circle")
    )


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
    objective = alt.Y(
        "objective:N",
        sort=order,
        title=None,
        axis=alt.Axis(labelLimit=_LABEL_PX, labelOverlap=False),
    )
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
        height=(_ROW_PX if len(shown) <= _DENSE else _DENSE_ROW_PX) * max(len(shown), 1),
        padding={"right": 20, "bottom": 10},
    )
    return cast("alt.LayerChart", layers)


def distribution(quantiles: pd.DataFrame, workload: str, metric: str) -> alt.Chart:
    """Empirical distribution of a latency over the requests of each side.

    Needs rows of the query request_quantiles.
    """
    chosen = (quantiles["workload"] == workload) & (quantiles["metric"] == metric)
    chart = (
        alt.Chart(quantiles[chosen], height=_CHART_PX)
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=alt.X(
                "value:Q",
                title=f"{metric.removesuffix('_ms')} (ms), lower is better",
                scale=alt.Scale(zero=False),
            ),
            y=alt.Y("share:Q", title="share of requests", axis=alt.Axis(format="%")),
            color=side_colour(),
            strokeDash=_side_dash(),
            tooltip=[
                "side",
                alt.Tooltip("share:Q", format=".1%"),
                alt.Tooltip("value:Q", title=f"{metric.removesuffix('_ms')} (ms)", format=".5~g"),
                alt.Tooltip("requests:Q", title="requests in all"),
            ],
        )
    )
    return cast("alt.Chart", chart)


def _side_dash() -> alt.StrokeDash:
    scale = alt.Scale(domain=list(palette.SIDES), range=[[4, 3], [1, 0]])
    return alt.StrokeDash("side:N", scale=scale, legend=None)


def frontier(points: pd.DataFrame, unit: str) -> alt.LayerChart:
    """Throughput against what one user sees, both sides; points that are beaten are faded.

    Needs the columns side, point, interactivity, throughput_per_gpu, n, on_frontier, remark.
    """
    x = alt.X(
        "interactivity:Q",
        title="speed for one user (tokens/s/user), higher is better",
        scale=alt.Scale(zero=False),
    )
    y = alt.Y(
        "throughput_per_gpu:Q",
        title=f"throughput ({unit}), higher is better",
        scale=alt.Scale(zero=False),
    )
    tips = [
        "side",
        "point",
        alt.Tooltip("interactivity:Q", title="tokens/s/user", format=".4~g"),
        alt.Tooltip("throughput_per_gpu:Q", title=unit, format=".4~g"),
        alt.Tooltip("n:Q", title="repetitions"),
        "remark",
    ]
    line = (
        alt.Chart(points[points["on_frontier"].astype(bool)])
        .mark_line(strokeWidth=2, interpolate="linear")
        .encode(x=x, y=y, color=side_colour(), strokeDash=_side_dash(), order="interactivity:Q")
    )
    dots = (
        alt.Chart(points)
        .mark_point(filled=True, size=90)
        .encode(
            x=x,
            y=y,
            color=side_colour(),
            shape=alt.Shape(
                "side:N",
                scale=alt.Scale(domain=list(palette.SIDES), range=["circle", "diamond"]),
                legend=None,
            ),
            opacity=alt.condition("datum.on_frontier", alt.value(1.0), alt.value(0.35)),
            tooltip=tips,
        )
    )
    names = (
        alt.Chart(points)
        .mark_text(align="left", dx=8, dy=-6, fontSize=11)
        .encode(x=x, y=y, text="point:N", color=side_colour(), tooltip=tips)
    )
    return cast(
        "alt.LayerChart", alt.layer(line, dots, names, height=_CHART_PX + 60, padding={"right": 70})
    )
