"""What the viewer chose: kept in the address, and checked against what there is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from gauntlet.analyzer.measured import Statistic
from gauntlet.hud.performance.frames import natural, place_label

RANGES = {"30 days": 30, "90 days": 90, "365 days": 365, "all": 4000}
DEFAULT_STATISTIC = Statistic("tpot_ms", "p50")
_DEFAULT_RANGE = "90 days"
_SERIES_WIDGET = "series_choice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A statistic over the last ``days``."""

    statistic: Statistic
    days: int


def pick_statistic(known: Sequence[dict[str, Any]]) -> Statistic:
    """Ask for a metric and one of its statistics; ``known`` are rows of known_statistics."""
    by_metric: dict[str, list[str]] = {}
    for row in known:
        if row["window"] == "full":
            by_metric.setdefault(row["metric"], []).append(row["statistic"])
    metrics = sorted(by_metric) or [DEFAULT_STATISTIC.metric]
    metric = pick("Metric", metrics, "metric", DEFAULT_STATISTIC.metric)
    statistics = by_metric.get(metric, [DEFAULT_STATISTIC.statistic])
    return Statistic(
        metric, pick("Statistic", statistics, "statistic", DEFAULT_STATISTIC.statistic)
    )


def pick_range() -> int:
    """Ask for how many days back."""
    wanted = st.query_params.get("range")
    if wanted and wanted not in RANGES:
        unknown("range", wanted, _DEFAULT_RANGE)
    chosen = st.segmented_control(
        "Range", list(RANGES), default=_DEFAULT_RANGE, key="range", bind="query-params",
        required=True,
    )  # fmt: skip
    return RANGES[chosen]


def pick_series(known: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Ask for a series by what people call it; the address holds its id. None is all of them."""
    rows = {row["series_id"]: row for row in sorted(known, key=lambda r: natural(place_label(r)))}
    wanted = st.query_params.get("series")
    if wanted and wanted not in rows:
        unknown("series", wanted, "all of them")
    # The address is what counts: a link or the back button may have changed it.
    st.session_state[_SERIES_WIDGET] = wanted if wanted in rows else None
    st.selectbox(
        "Series",
        list(rows),
        index=None,
        format_func=lambda series_id: place_label(rows[series_id]),
        placeholder=f"all {len(rows)} series",
        key=_SERIES_WIDGET,
        on_change=_to_address,
        width="stretch",
    )
    chosen = st.session_state[_SERIES_WIDGET]
    return rows[chosen] if chosen else None


def _to_address() -> None:
    chosen = st.session_state[_SERIES_WIDGET]
    if chosen:
        st.query_params["series"] = chosen
    else:
        st.query_params.pop("series", None)


def pick(label: str, options: Sequence[str], key: str, default: str) -> str:
    """Ask for one of some words, bound to the address; a word that is not one is said."""
    index = list(options).index(default) if default in options else 0
    wanted = st.query_params.get(key)
    if wanted and wanted not in options:
        unknown(key, wanted, options[index])
    return st.selectbox(label, options, index=index, key=key, bind="query-params", width=190)


def unknown(what: str, wanted: str, shown: str) -> None:
    """Say that the address asks for something that is not there."""
    text = f"No {what} {wanted}; showing {shown}.".replace("`", "'")
    st.warning(f"`{text}`", icon=":material/warning:")
