"""Charts of the accelerators of one host over time."""

from typing import cast

import altair as alt
import pandas as pd

from gauntlet.hud import palette

_CHART_PX = 200
_DASHES = [[1, 0], [6, 3], [2, 2], [8, 2, 2, 2]]


def over_time(
    history: pd.DataFrame, column: str, *, title: str, unit: str, most: float | None = None
) -> alt.Chart:
    """One measure of every accelerator of a host; colours and dashes tell them apart."""
    gpus = sorted(history["gpu"].unique())
    colours = [palette.SERIES[n % len(palette.SERIES)] for n in range(len(gpus))]
    dashes = [_DASHES[n % len(_DASHES)] for n in range(len(gpus))]
    length = history["at"].max() - history["at"].min()
    digits = "%H:%M" if length <= pd.Timedelta(days=2) else "%d %b"
    scale = alt.Scale(zero=True) if most is None else alt.Scale(domain=[0, most])
    drawn = (
        alt.Chart(history, height=_CHART_PX, title=alt.TitleParams(title, anchor="start"))
        .mark_line(strokeWidth=1.5, invalid="break-paths-show-path-domains")
        .encode(
            x=alt.X("at:T", title=None, axis=alt.Axis(format=digits), scale=alt.Scale(type="utc")),
            y=alt.Y(f"{column}:Q", title=unit, scale=scale),
            color=alt.Color(
                "gpu:N",
                scale=alt.Scale(domain=gpus, range=colours),
                legend=alt.Legend(orient="right", title="GPU"),
            ),
            strokeDash=alt.StrokeDash("gpu:N", scale=alt.Scale(domain=gpus, range=dashes)),
            tooltip=[
                alt.Tooltip("when:N", title="step"),
                alt.Tooltip("gpu:N", title="GPU"),
                alt.Tooltip(f"{column}:Q", title=title, format=".3~g"),
                alt.Tooltip("throttled_samples:Q", title="throttled samples"),
            ],
        )
    )
    return cast("alt.Chart", drawn)
