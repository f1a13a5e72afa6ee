"""Charts of one series over time: pure functions, no Streamlit and no warehouse."""

from dataclasses import dataclass
from typing import Any, cast

import altair as alt
import pandas as pd

from gauntlet.hud import palette

_CHART_PX, _STRIP_PX, _ROW_PX = 460, 64, 18
_SMALL_PX = 200
_POINT, _LEVEL = palette.SERIES[0], "#6b7280"
_LABEL_ROWS = 3
# What may explain a change, by colour and by shape, each in a row of its own below the plot.
_EVENTS = {
    "configuration": ("#7c5cbf", "diamond", 0),
    "client": ("#0b7a5c", "square", 0),
    "machine": ("#d9a400", "triangle-up", 1),
    "note": ("#2f6fb0", "circle", 1),
    "missing": ("#c2410c", "cross", 2),
}
_AXIS = alt.Scale(type="utc")
_SAID = ("night", "build", "image", "n", "host", "driver", "client")


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What is drawn: a statistic of ``place`` with its unit, and which way is better."""

    place: str

    metric: str
    statistic: str
    unit: str
    higher_is_better: bool

    @property
    def title(self) -> str:
        """Title of the axis."""
        way = "higher" if self.higher_is_better else "lower"
        name = self.metric.removesuffix(f"_{self.unit}")
        return f"{name} {self.statistic} ({self.unit}), {way} is better"


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Frames of one series; ``repetitions`` are empty where the range is too long for them."""

    nights: pd.DataFrame
    repetitions: pd.DataFrame
    levels: pd.DataFrame
    changes: pd.DataFrame
    events: pd.DataFrame


def history(drawn: History, words: Words) -> alt.LayerChart:
    """Nights and repetitions, the levels between changes, and below what may explain them."""
    value = alt.Y("value:Q", title=words.title, scale=alt.Scale(zero=False, nice=True))
    time = alt.X(
        "at:T", title="night (UTC day)", scale=_AXIS, axis=alt.Axis(offset=_STRIP_PX, grid=False)
    )
    layers = [
        *_levels(drawn.levels, words),
        *_repetitions(drawn.repetitions, time, value, words),
        _nights(drawn.nights[drawn.nights["measured"].astype(bool)], time, value, words),
        *_changes(drawn.changes, drawn.nights),
        *_events(drawn.events),
    ]
    layered = alt.layer(*layers, height=_CHART_PX, padding={"top": 50, "right": 20, "bottom": 6})
    return cast("alt.LayerChart", layered.resolve_scale(color="independent", shape="independent"))


def _value_tip(words: Words) -> alt.Tooltip:
    return alt.Tooltip("value:Q", title=f"{words.statistic} ({words.unit})", format=".5~g")


def _levels(levels: pd.DataFrame, words: Words) -> list[alt.Chart]:
    flat = levels[levels["value"] == levels["value_end"]]
    ramps = levels[levels["value"] != levels["value_end"]]
    tips: list[str | alt.Tooltip] = ["what", _value_tip(words)]
    tips.append(alt.Tooltip("lower:Q", title="95 % from", format=".5~g"))
    tips += [
        alt.Tooltip("upper:Q", title="95 % to", format=".5~g"),
        alt.Tooltip("n:Q", title="nights"),
    ]
    begin, end = alt.X("from:T", scale=_AXIS), "to:T"
    found = []
    if len(flat):
        base = alt.Chart(flat).encode(x=begin, x2=end, tooltip=tips)
        found.append(base.mark_rect(color=_LEVEL, opacity=0.22).encode(y="lower:Q", y2="upper:Q"))
        found.append(base.mark_rule(color=_LEVEL, strokeWidth=2.5).encode(y="value:Q"))
    if len(ramps):
        found.append(
            alt.Chart(ramps)
            .mark_rule(color=_LEVEL, strokeWidth=2.5, strokeDash=[6, 3])
            .encode(x=begin, x2=end, y="value:Q", y2="value_end:Q", tooltip=["what"])
        )
    return found


def _repetitions(frame: pd.DataFrame, time: alt.X, value: alt.Y, words: Words) -> list[alt.Chart]:
    if frame.empty:
        return []
    drawn = (
        alt.Chart(frame)
        .mark_circle(size=22, opacity=0.38, color=_POINT)
        .encode(x=time, y=value, tooltip=[*_SAID[:3], _value_tip(words), "n", *_SAID[4:], "run"])
    )
    return [drawn]


def _nights(frame: pd.DataFrame, time: alt.X, value: alt.Y, words: Words) -> alt.Chart:
    tips = [*_SAID[:3], _value_tip(words), alt.Tooltip("n:Q", title="repetitions")]
    tips += [alt.Tooltip("refused:Q", title="refused"), *_SAID[4:], "configuration:O"]
    drawn = (
        alt.Chart(frame)
        .mark_point(size=34, filled=True, opacity=0.95, color=_POINT)
        .encode(x=time, y=value, tooltip=tips)
    )
    return cast("alt.Chart", drawn)


def _changes(changes: pd.DataFrame, nights: pd.DataFrame) -> list[alt.Chart]:
    """Vertical rules before the first night of a new level, each with its size above the plot."""
    if changes.empty or nights.empty:
        return []
    shown = changes.sort_values("at").reset_index(drop=True)
    shown["edge"] = shown["at"] - pd.Timedelta(hours=12)
    shown["label"] = [
        _label(row, whole=len(shown) <= _LABEL_ROWS) for row in shown.to_dict("records")
    ]
    colour = alt.Color(
        "state:N",
        legend=None,
        scale=alt.Scale(
            domain=list(palette.VERDICTS), range=[look.colour for look in palette.VERDICTS.values()]
        ),
    )
    tips = ["night", "kind", "change", "interval", "commits", "holds", "counts", "reason"]
    middle = nights["at"].min() + (nights["at"].max() - nights["at"].min()) / 2
    base = alt.Chart(shown).encode(x=alt.X("edge:T", scale=_AXIS), color=colour, tooltip=tips)
    found = [base.mark_rule(strokeWidth=1.6, strokeDash=[5, 3]).encode()]
    for row in range(_LABEL_ROWS):
        for late in (False, True):
            chosen = shown[(shown.index % _LABEL_ROWS == row) & ((shown["at"] > middle) == late)]
            if chosen.empty:
                continue
            text = alt.Chart(chosen).mark_text(
                align="right" if late else "left",
                dx=-4 if late else 4,
                fontSize=12,
                fontWeight="bold",
            )
            place = alt.value(-8 - 15 * row)
            found.append(
                text.encode(
                    x=alt.X("edge:T", scale=_AXIS), y=place, text="label:N", color=colour,
                    tooltip=tips,
                )
            )  # fmt: skip
    return found


def _label(row: dict[Any, Any], *, whole: bool) -> str:
    text = f"{palette.VERDICTS[row['state']].sign} {row['short']}"
    return f"{text} ({row['interval']}), {row['commits']}" if whole else text


def _events(events: pd.DataFrame) -> list[alt.Chart]:
    """Marks in a strip below the plot: a shape and a colour for each kind, and a legend."""
    present = [name for name in _EVENTS if (events["what"] == name).any()]
    found = []
    for name in present:
        colour, shape, row = _EVENTS[name]
        mark = alt.Chart(events[events["what"] == name]).mark_point(
            filled=name != "missing", size=70 if name != "missing" else 45, color=colour,
            shape=shape, opacity=1, clip=False,
        )  # fmt: skip
        # The frame decides how high the plot is; `height` is what is left of it.
        place = alt.value(alt.expr(f"height + {12 + _ROW_PX * row}"))
        found.append(mark.encode(x=alt.X("at:T", scale=_AXIS), y=place, tooltip=["what", "text"]))
    return found


def legend(events: pd.DataFrame) -> str:
    """In words, what the marks below the plot are."""
    signs = {"configuration": "◆", "client": "■", "machine": "▲", "note": "●", "missing": "✚"}
    present = [f"{signs[name]} {name}" for name in _EVENTS if (events["what"] == name).any()]
    return "   ".join(present)


def small(nights: pd.DataFrame, levels: pd.DataFrame, words: Words, title: str) -> alt.LayerChart:
    """One point of a recipe, small: its nights and levels."""
    value = alt.Y("value:Q", title=words.unit, scale=alt.Scale(zero=False))
    time = alt.X("at:T", title=None, scale=_AXIS, axis=alt.Axis(grid=False, tickCount=4))
    dots = (
        alt.Chart(nights[nights["measured"].astype(bool)])
        .mark_circle(size=10, opacity=0.6, color=_POINT)
        .encode(x=time, y=value, tooltip=["night", "build", _value_tip(words), "host"])
    )
    layers = [dots, *_levels(levels, words)]
    return cast("alt.LayerChart", alt.layer(*layers, height=_SMALL_PX, title=title))
