"""Draws the page Main: is main healthy?"""

from html import escape
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.elements.lib.column_types import ColumnConfig

from gauntlet.hud import shell
from gauntlet.hud.main import charts
from gauntlet.hud.main.cell import attempts_frame, decisive_lines, jobs_to_show
from gauntlet.hud.main.grid import Build, Grid, builds_of, chosen_groups, grid_html, grid_of
from gauntlet.hud.main.headline import headline
from gauntlet.hud.main.incidents import Links, broken_html, incidents_html, incidents_of
from gauntlet.hud.outcomes import SHORT_SHA, commit_address, pull_request_address
from gauntlet.hud.shell.links import web_address
from gauntlet.hud.shell.times import duration
from gauntlet.hud.shell.view import View
from gauntlet.hud.strips import history_strips, legend_html, prose_html, strips_html

_COMMITS = ("50", "100", "200")
_ORDERS = {"trouble": "those with most trouble first", "name": "by name"}
_STREAK_COMMITS = 200
_DAYS = 30
_RECENT_DAYS = 7
_LATE_S = 24 * 3600
_HISTORY_COMMITS = 30
_COMMITS_AFTER = 10
_LINES_SHOWN = 5
_STRIPS_SHOWN = 6
_BROKEN_SHOWN = 12


def draw(view: View) -> None:
    """Draw the health of the branch of the address, or else of main."""
    branch = str(st.query_params.get("branch", "main"))
    commits = int(shell.choose("Commits", _COMMITS, key="commits", default=_COMMITS[0]))
    rows = view.rows("main_grid", branch=branch, commits=commits)
    if not rows:
        shell.nothing(
            "No commit of this branch is known.",
            "`gauntlet ingest` reads commits from a repository and builds from Buildkite.",
        )
        st.text(f"branch: {branch}")
        return
    grid = grid_of(rows)
    builds = builds_of(view.rows("commit_builds", branch=branch, commits=commits))
    streaks = view.rows("job_streaks", branch=branch, commits=_STREAK_COMMITS)
    incidents = view.rows("open_incidents")
    _tiles(view, branch, grid, builds, streaks, len(incidents))
    with shell.section("Open incidents" if incidents else "Broken jobs"):
        _open(view, branch, grid, streaks, incidents)
    with shell.section("Commits and groups"):
        _grid(view, branch, commits, grid, builds)
    with shell.section("Trends"):
        _trends(view, branch)


def _named(branch: str) -> str | None:
    """The branch as a parameter of an address: main is left out."""
    return None if branch == "main" else branch


def _tiles(
    view: View,
    branch: str,
    grid: Grid,
    builds: dict[str, Build],
    streaks: list[dict[str, Any]],
    incidents: int,
) -> None:
    recent = view.rows("time_to_signal", branch=branch, days=_RECENT_DAYS, step_days=_RECENT_DAYS)
    shell.tiles(
        headline(
            builds=[builds[each.sha] for each in grid.commits if each.sha in builds],
            commits=len(grid.commits),
            streaks=streaks,
            streak_commits=_STREAK_COMMITS,
            signal=recent[-1] if recent else None,
            signal_days=_RECENT_DAYS,
            incidents=incidents,
        )
    )
    shell.newest_note("commit", grid.commits[0].committed_at, view, late_s=_LATE_S)


def _open(
    view: View,
    branch: str,
    grid: Grid,
    streaks: list[dict[str, Any]],
    incidents: list[dict[str, Any]],
) -> None:
    repository = grid.commits[0].repository
    links = Links(
        job=lambda job: view.link("jobs", branch=_named(branch), job=job),
        commit=lambda sha: commit_address(repository, sha),
        cell=lambda sha, group: view.link(
            "", branch=_named(branch), commit=sha[:SHORT_SHA], group=group
        ),
    )
    if incidents:
        st.html(incidents_html(incidents_of(incidents), links, view.ago))
        return
    broken = [row for row in streaks if row["state"] == "broken"]
    if not broken:
        st.success("No job is broken, and no incident is open.", icon=":material/check:")
        return
    st.html(broken_html(broken[:_BROKEN_SHOWN], links, _STREAK_COMMITS))
    more = len(broken) - _BROKEN_SHOWN
    if more > 0:
        every = escape(view.link("jobs", branch=_named(branch)))
        st.html(prose_html(f'<a href="{every}">{more} more broken jobs</a>'))


def _grid(view: View, branch: str, commits: int, grid: Grid, builds: dict[str, Build]) -> None:
    if not grid.groups:
        shell.nothing("None of these commits was built.", "Builds come with `gauntlet ingest`.")
        return
    detail = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        order = shell.choose("Groups by", tuple(_ORDERS), key="order", default=next(iter(_ORDERS)))
        find = st.text_input("Groups whose name has", key="find", bind="query-params", width=220)
        only = st.toggle("Only groups that are not green", key="only", bind="query-params")
    kept = {
        "branch": _named(branch),
        "commits": None if str(commits) == _COMMITS[0] else commits,
        "order": None if order == next(iter(_ORDERS)) else order,
        "find": find,
        "only": "true" if only else None,
    }
    chosen = _address_cell(grid)
    if chosen:
        with detail:
            _cell(view, branch, grid, builds, chosen, close=view.link("", **kept))
    groups = chosen_groups(grid, order=order, find=find, only_trouble=only)
    if not groups:
        shell.nothing("No group is left.", "Empty the filter, or show green groups too.")
        return
    st.html(legend_html(notes=_NOTES))
    shell.own_html(
        grid_html(
            grid,
            groups,
            address=lambda sha: view.link("", **kept, commit=sha),
            now=view.now,
            builds=builds,
            chosen=chosen,
        ),
        key="grid",
    )
    st.caption(
        f"{len(grid.commits)} newest commits of {len(groups)} of {len(grid.groups)} groups, "
        f"{_ORDERS[order]}. A cell shows the worst of its jobs, and how many failed where it is "
        "more than one; choose it for its attempts. Arrow keys move between cells."
    )


_NOTES = {
    "failed": "failed",
    "infra": "failed for its machine alone",
    "flaky": "flaky: failed and passed",
    "running": "not ended",
    "blocked": "blocked by a step before it",
    "passed": "passed",
    "not run": "not run",
}


def _address_cell(grid: Grid) -> tuple[str, str] | None:
    """Commit and group of the address; a commit of the grid by its whole id."""
    sha = str(st.query_params.get("commit", ""))
    group = str(st.query_params.get("group", ""))
    if not sha or not group:
        return None
    commit = grid.find(sha)
    return (commit.sha if commit else sha, group)


def _cell(
    view: View,
    branch: str,
    grid: Grid,
    builds: dict[str, Build],
    chosen: tuple[str, str],
    *,
    close: str,
) -> None:
    sha, group = chosen
    attempts = view.frame("cell_attempts", sha=sha, group_key=group, branch=branch)
    with st.container(border=True):
        _cell_head(view, grid, builds.get(sha), chosen, close)
        if attempts.empty:
            st.text(f"No job of the group {group} was there at {sha[:SHORT_SHA]}.")
            return
        for job, line in decisive_lines(attempts, _LINES_SHOWN):
            st.text(job)
            st.code(line, language=None, wrap_lines=True)
        _history(view, branch, attempts)
        columns: dict[str, str | ColumnConfig] = {
            "shown": "state",
            "job": shell.link_column("job", "job=([^&]+)"),
            "shard": "shard",
            "attempt": "attempt",
            "said": "Buildkite says",
            "minutes": st.column_config.NumberColumn("minutes", format="%.1f"),
            "log": shell.link_column("log"),
            "failure_class": "failure class",
            "queue": "queue",
            "host": "host",
            "line": "decisive line",
        }
        if attempts["shard"].isna().all():
            del columns["shard"]
        shell.table(
            attempts_frame(attempts, lambda job: view.link("jobs", branch=_named(branch), job=job)),
            columns,
            name=f"Attempts of the group {group} at {sha[:SHORT_SHA]}",
        )


def _cell_head(
    view: View, grid: Grid, build: Build | None, chosen: tuple[str, str], close: str
) -> None:
    sha, group = chosen
    commit = grid.find(sha)
    parts = [f"<b>{escape(group)}</b> at"]
    repository = commit.repository if commit else grid.commits[0].repository
    parts.append(_outside(commit_address(repository, sha), sha[:SHORT_SHA]))
    if commit:
        pull = pull_request_address(repository, commit.pull_request)
        parts.append(f"{_outside(pull, commit.title)} by {escape(commit.author)},")
        parts.append(escape(f"{view.zone.text(commit.committed_at)} {view.zone.name}"))
        parts.append(f"· {escape(grid.counts(sha, group).words)}")
    if build:
        parts.append(f"· {_outside(web_address(build.url), f'build {build.number}')}")
    parts.append(f'· <a href="{escape(close)}">close</a>')
    st.html(prose_html(" ".join(parts)))


def _outside(address: str | None, text: str) -> str:
    if address is None:
        return escape(text)
    return f'<a href="{escape(address)}" target="_blank">{escape(text)}</a>'


def _history(view: View, branch: str, attempts: pd.DataFrame) -> None:
    position = attempts["position"].iloc[0]
    if pd.isna(position):
        return
    jobs = jobs_to_show(attempts, _STRIPS_SHOWN)
    upto = int(position) + _COMMITS_AFTER
    outcomes = view.rows(
        "job_outcomes", job_keys=",".join(jobs), branch=branch, upto=upto, commits=_HISTORY_COMMITS
    )
    commits = view.rows("commits_between", branch=branch, upto=upto, limit=_HISTORY_COMMITS)
    strips = history_strips(
        outcomes,
        commits,
        jobs,
        by="job_key",
        marked=int(position),
        row_address=lambda job: view.link("jobs", branch=_named(branch), job=job),
    )
    st.caption(f"{len(commits)} commits around it, oldest first; this one is framed.")
    st.html(strips_html(strips, name="Outcomes of these jobs, oldest commit first"))


def _trends(view: View, branch: str) -> None:
    left, right = st.columns(2, gap="medium")
    signal = view.frame("time_to_signal", branch=branch, days=_DAYS)
    green = view.frame("green_commits", branch=branch, days=_DAYS)
    if signal.empty and green.empty:
        shell.nothing(f"No build ended in the last {_DAYS} days.", "`gauntlet ingest` reads them.")
        return
    with left:
        if not signal.empty:
            longest = duration(float(signal["p90_min"].max()) * 60)
            shell.chart(
                charts.time_to_signal(signal),
                name=f"Time to signal by day, p50 and p90; the longest p90 is {longest}",
            )
    with right:
        if not green.empty:
            shell.chart(charts.green_share(green), name="Share of commits that ended green, by day")
