"""Draws what a night changed in CI: its last build of main against the one a night before."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import pandas as pd
import streamlit as st

from gauntlet.hud import palette, shell
from gauntlet.hud.outcomes import SHORT_SHA
from gauntlet.hud.shell.links import web_address
from gauntlet.hud.shell.view import View

_FAILED = ("failed", "infra")
CHANGES = (
    "newly failing",
    "still failing",
    "flaky",
    "fixed",
    "not run any more",
    "no longer flaky",
)


def change_of(before: str, after: str) -> str:
    """What happened to a job between two builds; one of :data:`CHANGES`."""
    if after in _FAILED:
        return "still failing" if before in _FAILED else "newly failing"
    if after == "flaky":
        return "flaky"
    if after == "not run":
        return "not run any more"
    return "fixed" if before in _FAILED else "no longer flaky"


def job_frame(rows: Sequence[Mapping[str, Any]], view: View) -> pd.DataFrame:
    """Rows of ``night_jobs`` as a table, what is new first."""
    found = [
        {
            "change": change_of(row["before"], row["after"]),
            "job": view.link("jobs", job=row["job_key"]),
            "group": row["group_key"],
            "before": palette.signed(palette.JOB_STATES, row["before"]),
            "after": palette.signed(palette.JOB_STATES, row["after"]),
        }
        for row in rows
    ]
    found.sort(key=lambda each: CHANGES.index(each["change"]))
    return pd.DataFrame(found)


def draw_ci(night: date, view: View) -> None:
    """Draw it; what is lacking is said."""
    builds = {row["which"]: row for row in view.rows("night_builds", night=night)}
    if "after" not in builds:
        shell.nothing(
            f"No build of main ended on {night} (UTC).", "`gauntlet ingest` reads builds."
        )
        return
    after, before = builds["after"], builds.get("before")
    _build("after", after, view)
    if before is not None:
        _build("before", before, view)
    if before is None:
        shell.nothing("No build of main ended in the week before.", "There is nothing to compare.")
        return
    rows = view.rows("night_jobs", before=before["number"], after=after["number"])
    if not rows:
        st.success("No job failed or was flaky in either.", icon=":material/check:")
        return
    frame = job_frame(rows, view)
    counts = Counter(frame["change"])
    shell.tiles([(each.capitalize(), str(counts[each]), None) for each in CHANGES[:4]])
    columns: shell.Columns = {
        "change": "since the night before",
        "job": shell.link_column("job", r"job=([^&]+)"),
        "group": "group",
        "before": "before",
        "after": "after",
    }
    looks = dict.fromkeys(("before", "after"), palette.JOB_STATES)
    shell.table(frame, columns, name="jobs that failed or were flaky in either build", looks=looks)


def _build(name: str, row: Mapping[str, Any], view: View) -> None:
    said = (
        f"{name}: build {row['number']} of {row['sha'][:SHORT_SHA]}, {row['state']}, ended"
        f" {view.zone.text(row['finished_at'])} {view.zone.name}"
    )
    address = web_address(row["url"])
    if address:
        shell.links({said: address})
    else:
        st.text(said)
