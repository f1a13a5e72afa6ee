"""Which two builds or runs are compared: kept in the address, as selectors."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from gauntlet.analyzer.history.commits import short
from gauntlet.hud.shell.times import Zone

Rows = Sequence[Mapping[str, Any]]


def options_of(builds: Rows, runs: Rows, zone: Zone) -> dict[str, str]:
    """Selectors of what is stored, newest first, with what people call each."""
    found: dict[str, str] = {}
    for row in builds:
        if row["engine_commit"]:
            selector = f"commit:{row['engine_commit']}"
        elif row["image_digest"]:
            selector = f"image:{row['image_digest']}"
        else:
            continue
        at = zone.text(row["last_measured"])
        name = short(row["engine_commit"] or row["image_digest"])
        version = row["engine_version"] or "no version"
        label = f"{name} · {version} · {row['repetitions']} repetitions · {at}"
        found.setdefault(selector, label)
    for row in runs:
        label = f"run {row['run_id']} · {row['recipe']} · {zone.text(row['started_at'])}"
        found[f"run:{row['run_id']}"] = label
    return found


def pick_side(side: str, options: Mapping[str, str]) -> str:
    """Ask for a side: one of the list, or any selector as text. Empty where none was chosen."""
    widget = f"{side}_choice"
    wanted = str(st.query_params.get(side, ""))
    st.session_state[widget] = wanted or None
    st.selectbox(
        side.capitalize(),
        [*options, *([wanted] if wanted and wanted not in options else [])],
        index=None,
        format_func=lambda selector: options.get(selector, selector),
        placeholder="a build or run, or commit:SHA, image:sha256:DIGEST, version:V, run:ID",
        accept_new_options=True,
        key=widget,
        on_change=_to_address(side, options),
    )
    return wanted


def _to_address(side: str, options: Mapping[str, str]) -> Callable[[], None]:
    by_label = {label: selector for selector, label in options.items()}

    def change() -> None:
        chosen = st.session_state[f"{side}_choice"]
        if chosen:
            st.query_params[side] = by_label.get(chosen, chosen)
        else:
            st.query_params.pop(side, None)

    return change
