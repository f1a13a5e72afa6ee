"""Draws one test: broken or flaky since when, its history by queue, durations and results."""

from html import escape
from typing import Any

import pandas as pd
import streamlit as st

from gauntlet.hud import palette, shell
from gauntlet.hud.acting.forms import subject_forms
from gauntlet.hud.jobs import charts
from gauntlet.hud.jobs.frames import Quarantine, durations_of_test, names_of, outcomes_of_test
from gauntlet.hud.jobs.headline import headline_html, lines_about_test, quarantine_line
from gauntlet.hud.outcomes import SHORT_SHA, worst
from gauntlet.hud.shell.view import View
from gauntlet.hud.strips import history_strips, legend_html, prose_html, strips_html

_RESULTS = 500
_STRIP_COMMITS = 50


def draw_test(view: View, branch: str, nodeid: str, quarantines: dict[str, Quarantine]) -> None:
    """Draw the test ``nodeid``, or say that there is none and which are called nearly so."""
    history = view.rows("test_history", nodeid=nodeid, branch=branch, limit=_RESULTS)
    if not history:
        _unknown(view, branch, nodeid)
        return
    streaks = view.rows("test_streak", nodeid=nodeid, branch=branch)
    commits = view.rows("commits_between", branch=branch, limit=_STRIP_COMMITS)
    outcomes = outcomes_of_test(history)
    state, label = _state(streaks, outcomes)
    lines = lines_about_test(streaks, commits, view.zone)
    lines += quarantine_line(quarantines.get(f"test/{nodeid}"), view.zone)
    st.subheader("Test", anchor=False)
    st.code(nodeid, language=None, wrap_lines=True)
    st.html(headline_html(state, label, lines))
    shell.answered()
    subject_forms(view, f"test/{nodeid}", held=f"test/{nodeid}" in quarantines)
    with shell.section("History by queue"):
        _strips(view, outcomes, commits)
    with shell.section("Durations"):
        _durations(view, nodeid)
    with shell.section("Results"):
        _results(view, history)


def _unknown(view: View, branch: str, nodeid: str) -> None:
    st.warning("No result of this test is known on this branch:", icon=":material/warning:")
    st.text(f"{nodeid} (branch {branch})")
    names = [row["nodeid"] for row in view.rows("nearest_tests", nodeid=nodeid)]
    if not names:
        shell.nothing("No test is known at all.", "`gauntlet ingest` reads results of tests.")
        return
    links = "".join(
        f'<li><a href="{escape(view.link("jobs", test=name))}">{escape(name)}</a></li>'
        for name in names
    )
    st.html(prose_html(f"Tests that are called nearly so:<ul>{links}</ul>"))


def _state(streaks: list[dict[str, Any]], outcomes: list[dict[str, Any]]) -> tuple[str, str]:
    """State and label: failing on a queue, else flaky in the results read, else as it is now."""
    if any(row["failing_since"] for row in streaks):
        return "failed", "failing"
    if any(row["state"] == "flaky" for row in outcomes):
        return "flaky", "flaky"
    newest = max((row["position"] for row in outcomes), default=None)
    now = worst(row["state"] for row in outcomes if row["position"] == newest)
    return now, now


def _strips(view: View, outcomes: list[dict[str, Any]], commits: list[dict[str, Any]]) -> None:
    shown = {commit["position"] for commit in commits}
    if not any(row["position"] in shown for row in outcomes):
        text = f"This test did not run at the newest {len(commits)} commits."
        shell.nothing(text, "The results below are older.")
        return
    strips = history_strips(
        outcomes,
        commits,
        names_of(outcomes, "queue"),
        by="queue",
        row_address=lambda queue: view.link("queues", queue=queue),
    )
    st.html(legend_html(("failed", "flaky", "passed", "not run")))
    st.html(strips_html(strips, name="Outcomes by queue, oldest commit first"))
    st.caption(f"The newest {len(commits)} commits in merge order, the newest at the right.")


def _durations(view: View, nodeid: str) -> None:
    days = durations_of_test(view.rows("test_trend", nodeid=nodeid))
    if days.empty:
        shell.nothing("No duration is known.", "Test reports with times bring them.")
        return
    shell.chart(charts.durations(days, unit="ms"), name="Duration of the test by day")


def _results(view: View, history: list[dict[str, Any]]) -> None:
    newest = next((row for row in history if row["message"]), None)
    if newest is not None:
        st.text(f"Newest message, at {newest['sha'][:SHORT_SHA]}:")
        st.code(newest["message"], language=None, wrap_lines=True)
    frame = pd.DataFrame(history)
    looks = {"passed": "passed", "failed": "failed", "error": "failed", "skipped": "not run"}
    signs = (
        frame["outcome"]
        .map(looks)
        .map({state: look.sign for state, look in palette.JOB_STATES.items()})
    )
    frame["shown"] = (signs.fillna("") + " " + frame["outcome"]).str.strip()
    frame["short"] = frame["sha"].str[:SHORT_SHA]
    frame["message"] = frame["message"].fillna("")
    frame["job"] = [view.link("jobs", job=job) for job in frame["job_key"]]
    shell.table(
        frame,
        {
            "shown": "outcome",
            "short": "commit",
            "started_at": shell.time_column("started", view.zone),
            "duration_ms": st.column_config.NumberColumn("ms", format="%.0f"),
            "job": shell.link_column("job", "job=([^&]+)"),
            "queue": "queue",
            "message": "message",
        },
        name="Results, newest first",
    )
