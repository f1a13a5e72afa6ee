"""What the viewer chose: kept in the address, and checked against what there is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from gauntlet.analyzer.measured import Statistic
from gauntlet.hud import shell
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
    metric = shell.choose_of_many("Metric", metrics, key="metric", default=DEFAULT_STATISTIC.metric)
    statistics = by_metric.get(metric, [DEFAULT_STATISTIC.statistic])
    statistic = shell.choose_of_many(
        "Statistic", statistics, key="statistic", default=DEFAULT_STATISTIC.statistic
    )
    return Statistic(metric, statistic)


def pick_range() -> int:
    """Ask for how many days back."""
    return RANGES[shell.choose("Range", list(RANGES), key="range", default=_DEFAULT_RANGE)]


def pick_series(known: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Ask for a series by what people call it; the address holds its id. None is all of them."""
    rows = {row["series_id"]: row for row in sorted(known, key=lambda r: natural(place_label(r)))}
    wanted = st.query_params.get("series")
    if wanted and wanted not in rows:
        shell.unknown("series", wanted, "showing all of them")
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
