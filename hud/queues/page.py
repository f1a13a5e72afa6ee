"""Draws the page Queues: is one congested, and what helps?"""

from typing import Any

import pandas as pd
import streamlit as st

from gauntlet.hud import shell
from gauntlet.hud.queues import charts, frames
from gauntlet.hud.queues.advice import advise
from gauntlet.hud.shell.times import NONE, duration
from gauntlet.hud.shell.view import View

_LATE_S = 900.0
_WEEKS = 4
_WORST = 6


def draw(view: View) -> None:
    """Draw all queues as they are now and, where the address names one, that one in full."""
    rows = view.frame("queues_now")
    if rows.empty:
        shell.nothing(
            "No queue was sampled yet.",
            "`gauntlet ingest buildkite --queues` records how full they are.",
        )
        return
    queues = frames.now(rows)
    _tiles(queues)
    shell.newest_note("queue sample", queues["sampled_at"].max(), view, late_s=_LATE_S)
    names = sorted(queues["queue"])
    shell.warn_unless_known("queue", names, "showing all queues; no sample names it this week")
    chosen = st.selectbox(
        "Queue",
        names,
        index=None,
        placeholder="choose a queue to see its history, forecast, jobs and hosts",
        key="queue",
        bind="query-params",
    )
    if chosen:
        _one(view, queues[queues["queue"] == chosen].to_dict("records")[0])
    with shell.section("All queues now"):
        _all(view, queues)


def _tiles(queues: pd.DataFrame) -> None:
    congested = int((queues["state"] == "congested").sum())
    heard = queues[queues["state"] != "silent"]
    oldest = heard["oldest_wait_min"].max()
    shell.tiles(
        [
            (
                "Queues congested",
                f"{congested} of {len(queues)}",
                "jobs wait, no agent is idle, and the oldest waits longer than 15 minutes",
            ),
            ("Jobs waiting", _sum(heard["jobs_waiting"]), "over all queues, at the newest samples"),
            ("Oldest wait", duration(60 * oldest), "of a job that waits in any queue"),
            ("Agents idle", _sum(heard["agents_idle"]), "over all queues"),
        ]
    )


def _sum(values: "pd.Series[Any]") -> str:
    known = pd.to_numeric(values).dropna()
    return f"{int(known.sum()):,}" if len(known) else NONE


def _all(view: View, queues: pd.DataFrame) -> None:
    worst = queues[queues["state"] == "congested"].head(_WORST)
    if len(worst):
        named = {str(name): view.link("queues", queue=name) for name in worst["queue"]}
        shell.links(named, name="Congested")
    shown = queues.assign(link=[view.link("queues", queue=name) for name in queues["queue"]])
    shell.table(
        shown,
        {
            "state": "state",
            "queue": "queue",
            "jobs_waiting": shell.number("waiting"),
            "usual_waiting": shell.number(
                "usual",
                help_text="half of the week's samples had no more",
                form="%.0f",
            ),
            "high_waiting": shell.number(
                "high", help_text="nine in ten of the week's samples had no more", form="%.0f"
            ),
            "oldest_wait_min": shell.number("oldest wait (min)", form="%.1f"),
            "agents_busy": shell.number("agents busy"),
            "agents_idle": shell.number("idle"),
            "agents_total": shell.number("all"),
            "sampled_at": shell.time_column("newest sample", view.zone),
            "link": shell.link_column("", "details"),
        },
        looks={"state": frames.STATES},
        name="All queues with their newest sample",
        rows_shown=15,
    )


def _one(view: View, row: dict[Any, Any]) -> None:
    queue = str(row["queue"])
    with shell.section("What helps"):
        rates = view.rows("queue_rates", queue=queue)
        _advice(row, rates[0] if rates else None)
    with shell.section("Load"):
        st.html(f'<a href="{view.link("queues")}">all queues</a>')
        name = shell.choose("Range", list(frames.SPANS), key="range", default="7d")
        _load(view, queue, frames.SPANS[name])
    with shell.section("Jobs that wait longest"):
        _waiting(view, queue)
    with shell.section("Hosts, last 7 days"):
        _hosts(view, queue)


def _advice(row: dict[Any, Any], rates: dict[str, Any] | None) -> None:
    if row["state"] == "silent":
        st.warning(
            "This queue has not been sampled for a while; what follows is from its newest sample.",
            icon=":material/history:",
        )
    advice = advise(frames.figures(row, rates))
    say = {"good": st.success, "watch": st.info, "act": st.warning, "unknown": st.info}
    say[advice.level](advice.text, icon=":material/lightbulb:")


def _load(view: View, queue: str, span: frames.Span) -> None:
    rows = view.frame("queue_history", queue=queue, days=span.days, step_min=span.step_min)
    if rows.empty:
        shell.nothing("No samples in this range.", "Choose a longer one.")
        return
    history = frames.history(rows, span.step_min, view.zone)
    coming = view.frame("queue_week", queue=queue, weeks=_WEEKS, hours=span.ahead_h)
    usual = frames.timed(coming, "hour", view.zone) if len(coming) else pd.DataFrame()
    counted = int(usual["weeks"].max()) if len(usual) else 0
    if not counted:
        st.caption("No forecast: there are no samples of the weeks before.")
    name = f"usual at this hour, last {counted} week{'' if counted == 1 else 's'}"
    axis = charts.domain(history, usual)
    shell.chart(
        charts.waiting(history, usual, name, axis), name="jobs waiting, and usually waiting next"
    )
    shell.chart(charts.agents(history, usual, name, axis), name="agents busy, and usually busy")
    if history["oldest_wait_min"].notna().any():
        shell.chart(charts.oldest(history, axis), name="oldest wait in minutes")
    else:
        st.caption("No job waited, or the source did not say how long.")
    _flow(view, queue, span, axis)


def _flow(view: View, queue: str, span: frames.Span, axis: charts.Domain) -> None:
    rows = view.frame("queue_flow", queue=queue, days=span.days, step_min=span.flow_step_min)
    if rows.empty:
        shell.nothing(
            "No attempts of this queue are recorded.", "`gauntlet ingest buildkite` records them."
        )
        return
    flow = frames.flow(rows, view.zone)
    step = duration(60 * span.flow_step_min)
    shell.chart(
        charts.flow(flow, axis, step), name=f"jobs that came, began and ended in steps of {step}"
    )
    shell.chart(charts.waits(flow, axis), name="minutes that jobs had waited when they began")


def _waiting(view: View, queue: str) -> None:
    rows = view.frame("waiting_jobs", queue=queue)
    if rows.empty:
        shell.nothing("No job of this queue is recorded as waiting.", "")
        return
    st.caption(f"{len(rows)} of {rows['waiting'].iloc[0]} that wait, oldest first.")
    since = pd.to_datetime(rows["runnable_at"], utc=True)
    shown = rows.assign(
        runnable_at=since,
        waits_min=[(view.now - each).total_seconds() / 60 for each in since],
        build=[view.link("durations", build=each) for each in rows["build_id"]],
        job=[view.link("jobs", job=each) for each in rows["job_key"]],
    )
    shell.table(
        shown,
        {
            "job_name": "job",
            "state": "state",
            "waits_min": shell.number("waits (min)", form="%.0f"),
            "runnable_at": shell.time_column("could run since", view.zone),
            "branch": "branch",
            "build_number": shell.number("build", form="%d"),
            "build": shell.link_column("", "waterfall"),
            "job": shell.link_column("", "history"),
        },
        name="Jobs that wait longest",
    )


def _hosts(view: View, queue: str) -> None:
    rows = view.frame("queue_hosts", queue=queue)
    if rows.empty:
        shell.nothing("No attempt names its host.", "Agents tell it where they run.")
        return
    st.caption("The mark is an alert that was recorded about the host; it is not made here.")
    shown = rows.assign(
        mark=["alert" if isinstance(each, str) else "" for each in rows["alert"]],
        link=[view.link("fleet", host=host) for host in rows["host"]],
        **{
            name: 100 * pd.to_numeric(rows[name])
            for name in ("failed_share", "infra_share", "others_infra_share", "others_failed_share")
        },
    )
    shell.table(
        shown,
        {
            "mark": "mark",
            "host": "host",
            "attempts": "attempts",
            "infra_failed": shell.number(
                "machine failures", help_text="attempts that failed for reasons of the machines"
            ),
            "infra_share": shell.number("rate", form="%.1f %%"),
            "others_infra_share": shell.number("rate of the others", form="%.1f %%"),
            "failed": shell.number("all failures"),
            "failed_share": shell.number("rate of all", form="%.1f %%"),
            "others_failed_share": shell.number("others, all", form="%.1f %%"),
            "last_seen": shell.time_column("last seen", view.zone),
            "alert_reason": "why it is marked",
            "link": shell.link_column("", "telemetry"),
        },
        looks={"mark": frames.ALERTS},
        name="Hosts of the queue with their failures",
    )
