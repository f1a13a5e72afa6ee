"""Draws one job: its state, since when, its history by hardware, durations and attempts."""

from html import escape
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.elements.lib.column_types import ColumnConfig

from gauntlet.hud import shell
from gauntlet.hud.acting.forms import subject_forms
from gauntlet.hud.jobs import charts
from gauntlet.hud.jobs.frames import (
    Quarantine,
    attempts_frame,
    durations_of_job,
    names_of,
    nearest_names,
    troubled_tests,
)
from gauntlet.hud.jobs.headline import headline_html, lines_about_job, quarantine_line
from gauntlet.hud.outcomes import SHORT_SHA, commit_address, count, worst
from gauntlet.hud.shell.view import View
from gauntlet.hud.strips import history_strips, legend_html, prose_html, strips_html

_COMMITS = 200
_STRIP_COMMITS = 50
_SUSPECTS = 50
_TEST_DAYS = 7
_KNOWN_DAYS = 90


def draw_job(view: View, branch: str, job: str, quarantines: dict[str, Quarantine]) -> None:
    """Draw the job ``job``, or say that there is none and which are called nearly so."""
    history = view.frame("job_history", job_key=job, branch=branch)
    if history.empty:
        _unknown(view, branch, job)
        return
    streaks = view.rows("job_streaks", branch=branch, commits=_COMMITS)
    streak = next((row for row in streaks if row["job_key"] == job), None)
    commits = view.rows("commits_between", branch=branch, limit=_STRIP_COMMITS)
    outcomes = view.rows("job_outcomes", job_keys=job, branch=branch, commits=_STRIP_COMMITS)
    suspects = _suspects(view, branch, streak)
    state, label = _state(streak, outcomes)
    lines = lines_about_job(streak, [*suspects, *commits], view.zone, commits_seen=_COMMITS)
    lines += quarantine_line(quarantines.get(f"job/{job}"), view.zone)
    st.subheader("Job", anchor=False)
    st.code(job, language=None)
    st.html(headline_html(state, label, lines))
    shell.answered()
    subject_forms(view, f"job/{job}", held=f"job/{job}" in quarantines)
    if streak and streak["failures_in_a_row"] and suspects:
        with shell.section("Suspects"):
            _draw_suspects(view, suspects, streak)
    with shell.section("History by hardware"):
        _strips(view, job, outcomes, commits)
    with shell.section("Durations"):
        _durations(view, job)
    with shell.section("Failing tests"):
        _tests(view, job, quarantines)
    with shell.section("Attempts"):
        _attempts(view, history, outcomes)


def _unknown(view: View, branch: str, job: str) -> None:
    st.warning("No attempt of this job is known on this branch:", icon=":material/warning:")
    st.text(f"{job} (branch {branch})")
    known = names_of(view.rows("known_jobs", days=_KNOWN_DAYS), "job_key")
    names = nearest_names(job, known)
    if names:
        links = (
            f'<a href="{escape(view.link("jobs", job=name))}">{escape(name)}</a>' for name in names
        )
        st.html(prose_html(f"Jobs that are called nearly so: {', '.join(links)}"))
    else:
        shell.nothing("No job is called nearly so.", "The list of jobs in trouble has links.")


def _suspects(view: View, branch: str, streak: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Commits after the last good one up to the first bad one, and the last good one itself."""
    if streak is None or streak["first_bad_position"] is None:
        return []
    good = streak["last_good_position"] or streak["first_bad_position"]
    return view.rows(
        "commits_between",
        branch=branch,
        after=max(good - 1, 0),
        upto=streak["first_bad_position"],
        limit=_SUSPECTS,
    )


def _state(streak: dict[str, Any] | None, outcomes: list[dict[str, Any]]) -> tuple[str, str]:
    """State and label: of the streak, or else of the newest commit that has the job."""
    if streak is not None:
        return ("failed" if streak["state"] == "broken" else "flaky", str(streak["state"]))
    newest = max((row["position"] for row in outcomes), default=None)
    now = worst(row["state"] for row in outcomes if row["position"] == newest)
    return now, now if newest else "not run lately"


def _draw_suspects(view: View, suspects: list[dict[str, Any]], streak: dict[str, Any]) -> None:
    good = streak["last_good_position"]
    shown = [each for each in suspects if good is None or each["position"] > good]
    if good is None:
        st.caption("The last good commit is not known, so that only the first bad one is named.")
    else:
        st.caption(
            f"{count(len(shown), 'commit')} after the last good one, up to the first bad one;"
            f" {streak['unknown_between']} of them did not run this job."
        )
    frame = pd.DataFrame(shown)
    frame["short"] = frame["sha"].str[:SHORT_SHA]
    frame["page"] = [commit_address(each["repository"], each["sha"]) for each in shown]
    columns: dict[str, str | ColumnConfig] = {
        "short": "commit",
        "title": "title",
        "author": "author",
        "pull_request": "pull request",
        "committed_at": shell.time_column("merged", view.zone),
        "page": shell.link_column("in the repository"),
    }
    if frame["page"].isna().all():
        del columns["page"]
    shell.table(frame, columns, name="Commits that may have broken the job", rows_shown=6)


def _strips(
    view: View, job: str, outcomes: list[dict[str, Any]], commits: list[dict[str, Any]]
) -> None:
    if not outcomes:
        text = f"This job did not run at the newest {len(commits)} commits."
        shell.nothing(text, "The attempts below are older.")
        return
    group = outcomes[0]["group_key"]
    strips = history_strips(
        outcomes,
        commits,
        names_of(outcomes, "queue"),
        by="queue",
        row_address=lambda queue: view.link("queues", queue=queue),
        cell_address=lambda sha: view.link("", commit=sha[:SHORT_SHA], group=group),
    )
    st.html(legend_html())
    st.html(strips_html(strips, name=f"Outcomes of {job} by queue, oldest commit first"))
    st.caption(f"The newest {len(commits)} commits in merge order, the newest at the right.")


def _durations(view: View, job: str) -> None:
    days = durations_of_job(view.rows("job_trend", job_key=job))
    if days.empty:
        shell.nothing("No day with a passed attempt is rolled up.", "`gauntlet warehouse rollup`.")
        return
    shell.chart(charts.durations(days, unit="minutes"), name=f"Run time of {job} by day")


def _tests(view: View, job: str, quarantines: dict[str, Quarantine]) -> None:
    tests = [row for row in view.rows("tests_in_trouble", days=_TEST_DAYS) if job in row["jobs"]]
    if not tests:
        st.caption(f"No failed test of this job among the worst of the last {_TEST_DAYS} days.")
        return
    shell.table(
        troubled_tests(tests, quarantines, lambda test: view.link("jobs", test=test)),
        {
            "shown": "state",
            "test": shell.link_column("test", "test=([^&]+)"),
            "failed": "failed",
            "flaky": "flaky commits",
            "last_failed": shell.time_column("last failed", view.zone),
            "quarantine": "quarantine",
        },
        name=f"Failing tests of {job}",
        rows_shown=6,
    )


def _attempts(view: View, history: pd.DataFrame, outcomes: list[dict[str, Any]]) -> None:
    group = outcomes[0]["group_key"] if outcomes else None

    def cell(sha: str) -> str:
        return view.link("", commit=sha[:SHORT_SHA], group=group)

    shell.table(
        attempts_frame(history, cell),
        {
            "shown": "state",
            "commit": shell.link_column("commit", "commit=([^&]+)"),
            "build_number": "build",
            "attempt": "attempt",
            "minutes": st.column_config.NumberColumn("minutes", format="%.1f"),
            "log": shell.link_column("log"),
            "failure_class": "failure class",
            "queue": "queue",
            "host": "host",
            "started_at": shell.time_column("started", view.zone),
            "line": "decisive line",
        },
        name="Attempts, newest first",
    )
