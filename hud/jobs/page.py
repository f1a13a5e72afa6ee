"""Draws the page Jobs and tests: broken or flaky, and since when?"""

from collections import Counter
from html import escape
from typing import Any

import pandas as pd
import streamlit as st

from gauntlet.hud import shell
from gauntlet.hud.jobs.frames import Quarantine, quarantines_of, troubled_jobs, troubled_tests
from gauntlet.hud.jobs.one_job import draw_job
from gauntlet.hud.jobs.one_test import draw_test
from gauntlet.hud.shell.view import View
from gauntlet.hud.strips import prose_html

_COMMITS = 200
_DAYS = 7


def draw(view: View) -> None:
    """Draw the job or the test of the address, or else all that are in trouble."""
    branch = str(st.query_params.get("branch", "main"))
    job, test = (str(st.query_params.get(name, "")) for name in ("job", "test"))
    quarantines = quarantines_of(view.rows("quarantines"))
    if job or test:
        back = view.link("jobs", branch=None if branch == "main" else branch)
        st.html(prose_html(f'<a href="{escape(back)}">All jobs and tests in trouble</a>'))
    if job:
        draw_job(view, branch, job, quarantines)
    elif test:
        draw_test(view, branch, test, quarantines)
    else:
        _overview(view, branch, quarantines)


def _overview(view: View, branch: str, quarantines: dict[str, Quarantine]) -> None:
    streaks = view.rows("job_streaks", branch=branch, commits=_COMMITS)
    tests = view.rows("tests_in_trouble", days=_DAYS)
    _tiles(streaks, tests, quarantines)
    find = st.text_input("Names that have", key="find", bind="query-params", width=320)
    with shell.section("Jobs in trouble"):
        _jobs(view, branch, streaks, quarantines, find)
    with shell.section("Tests in trouble"):
        _tests(view, tests, quarantines, find)


def _tiles(
    streaks: list[dict[str, Any]],
    tests: list[dict[str, Any]],
    quarantines: dict[str, Quarantine],
) -> None:
    jobs = Counter(row["state"] for row in streaks)
    cases = Counter(row["state"] for row in tests)
    among, days = f"among the newest {_COMMITS} commits", f"in the last {_DAYS} days, at most 200"
    shell.tiles(
        [
            ("Jobs broken", str(jobs["broken"]), f"failed on the newest commits, {among}"),
            ("Jobs flaky", str(jobs["flaky"]), f"failed and passed on one commit, {among}"),
            ("Tests broken", str(cases["broken"]), f"never passed {days}"),
            ("Tests flaky", str(cases["flaky"]), f"failed and passed on one commit {days}"),
            ("In quarantine", str(len(quarantines)), "tests and jobs"),
        ]
    )


def _jobs(
    view: View,
    branch: str,
    streaks: list[dict[str, Any]],
    quarantines: dict[str, Quarantine],
    find: str,
) -> None:
    if not streaks:
        text = f"No job is broken or flaky in the newest {_COMMITS} commits."
        shell.nothing(text, "See the page Health for the age of the records.")
        return
    named = None if branch == "main" else branch
    frame = troubled_jobs(
        streaks, quarantines, lambda job: view.link("jobs", branch=named, job=job), find
    )
    if frame.empty:
        shell.nothing("No job in trouble has that in its name.", "Empty the filter.")
        return
    shell.table(
        frame,
        {
            "shown": "state",
            "job": shell.link_column("job", "job=([^&]+)"),
            **_held(frame),
            "group_key": "group",
            "failures_in_a_row": "failures in a row",
            "first_bad": st.column_config.TextColumn("first bad", width=100),
            "last_good": st.column_config.TextColumn("last good", width=100),
            "unknown_between": "unknown between",
            "flips": "flips",
            "flaky_commits": "flaky commits",
            "commits": "commits that ran it",
        },
        name="Jobs that are broken or flaky",
    )


def _tests(
    view: View, tests: list[dict[str, Any]], quarantines: dict[str, Quarantine], find: str
) -> None:
    if not tests:
        text = f"No test failed in the last {_DAYS} days."
        shell.nothing(text, "See the page Health for the age of the records.")
        return
    frame = troubled_tests(tests, quarantines, lambda test: view.link("jobs", test=test), find)
    if frame.empty:
        shell.nothing("No test in trouble has that in its name.", "Empty the filter.")
        return
    st.caption(f"Tests that failed in the last {_DAYS} days on any branch, flaky ones first.")
    shell.table(
        frame,
        {
            "shown": "state",
            "test": shell.link_column("test", "test=([^&]+)"),
            **_held(frame),
            "failed": "failed",
            "flaky": "flaky commits",
            "runs": "runs",
            "failure_rate": st.column_config.NumberColumn("failure rate", format="percent"),
            "first_failed": shell.time_column("first failed", view.zone),
            "last_failed": shell.time_column("last failed", view.zone),
            "jobs": "jobs",
            "queues": "queues",
        },
        name="Tests that are broken or flaky",
    )


def _held(frame: pd.DataFrame) -> dict[str, str]:
    """Columns about quarantines, where there is any."""
    if not frame["quarantine"].any():
        return {}
    return {"quarantine": "quarantine", "owner": "owner"}
