"""Draws the page Durations and cost: what takes long, and what does it cost?"""

from uuid import UUID

import pandas as pd
import streamlit as st

from gauntlet.hud import shell
from gauntlet.hud.durations import charts, frames
from gauntlet.hud.durations.waterfall import bars, choose, frontier, pieces
from gauntlet.hud.shell.times import duration
from gauntlet.hud.shell.view import View

_DAYS = ("7", "14", "30", "90")
_TREND_DAYS = 90
_BUILDS = 12


def draw(view: View) -> None:
    """Draw the build and the job of the address, then what holds for all of them."""
    days = int(shell.choose("Days", _DAYS, key="days", default="14"))
    _tiles(view, days)
    build = st.query_params.get("build")
    if build:
        with shell.section("One build"):
            _build(view, build)
    job = st.query_params.get("job")
    if job:
        with shell.section("One job"):
            _job(view, job)
    with shell.section("Recent builds of main"):
        _recent(view)
    with shell.section("Longest jobs"):
        _longest(view, days)
    left, right = st.columns(2, gap="large")
    with left, shell.section("Cost by group and vendor"):
        _costs(view, days)
    with right, shell.section("Time lost by cause"):
        _lost(view, days)


def _tiles(view: View, days: int) -> None:
    costs, lost = view.frame("costs", days=days), view.frame("minutes_lost", days=days)
    longest = view.frame("longest_jobs", days=days)
    if costs.empty or longest.empty:
        return
    first = longest.iloc[0]
    hours = f"{lost['minutes'].sum() / 60:,.0f} h" if len(lost) else "0 h"
    shell.tiles(
        [
            (
                "Cost",
                f"{costs['cost_usd'].sum():,.0f} USD",
                f"of {days} days, where prices are known",
            ),
            ("Machine time", f"{costs['hours'].sum():,.0f} h", f"of {days} days"),
            ("Lost", hours, "attempts that did not pass, on all branches"),
            ("Longest job", f"{first['p50_min']:.0f} min", f"{first['job_key']}, median"),
        ]
    )


def _build(view: View, build: str) -> None:
    rows = view.rows("build_timeline", build_id=build) if _is_id(build) else []
    if not rows:
        # st.text: the address is anybody's text.
        st.warning("The address names a build that the warehouse does not hold:")
        st.text(build[:80])
        return
    start = rows[0]["build_created_at"]
    drawn = bars(rows)
    path = frontier(drawn, start)
    shown = choose(drawn, path, view.now)
    ended = [each.finished_at for each in drawn if each.finished_at]
    whole = duration((max(ended) - start).total_seconds()) if ended else "not over"
    st.caption(
        f"{len(drawn)} attempts, {whole} from {view.zone.text(start)} {view.zone.name} to the last"
        f" end; ◆ marks the {len(path)} on the completion frontier: from the last end back to"
        " whatever had ended just before each could run. What waits for what is not recorded."
    )
    left_out = len(drawn) - len(shown)
    if left_out:
        st.caption(f"Drawn are the frontier and the longest; {left_out} shorter ones are left out.")
    shell.chart(
        charts.waterfall(pieces(shown, path, start, view.now)),
        name="jobs of the build from when they could run to their end, the frontier marked",
    )


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _job(view: View, job: str) -> None:
    st.text(job)
    rows = view.rows("job_trend", job_key=job, days=_TREND_DAYS)
    if not rows:
        shell.nothing(
            f"No attempt of this job is known in the last {_TREND_DAYS} days.",
            "Its key may be another now; days are rolled up by `gauntlet warehouse rollup`.",
        )
        return
    frame = frames.trend(rows)
    shell.links({"attempts and failures": view.link("jobs", job=job)})
    left, right = st.columns(2, gap="medium")
    with left:
        shell.chart(charts.trend(frame, "run"), name="run time of the job, day by day")
    with right:
        shell.chart(charts.trend(frame, "wait"), name="wait of the job, day by day")


def _recent(view: View) -> None:
    rows = view.rows("recent_builds")
    if not rows:
        shell.nothing("No build of main is recorded.", "`gauntlet ingest buildkite` records them.")
        return
    shell.links(
        {
            frames.build_text(row, view.zone): view.link("durations", build=row["build_id"])
            for row in rows[:_BUILDS]
        },
        name="Waterfall of",
    )
    with st.expander(f"The newest {len(rows)} in a table"):
        frame = pd.DataFrame(rows)
        shell.table(
            frame.assign(
                link=[view.link("durations", build=each) for each in frame["build_id"]],
                commit=[sha[:12] for sha in frame["sha"]],
                minutes=pd.to_numeric(frame["minutes"]),
            ),
            {
                "number": shell.number("build", form="%d"),
                "state": "state",
                "minutes": shell.number("minutes", form="%.0f"),
                "jobs": "jobs",
                "attempts": "attempts",
                "created_at": shell.time_column("made", view.zone),
                "commit": "commit",
                "message": "message",
                "link": shell.link_column("", "waterfall"),
            },
            name="Recent builds of main",
        )


def _longest(view: View, days: int) -> None:
    rows = view.frame("longest_jobs", days=days)
    if rows.empty:
        shell.nothing(
            "No day of job attempts is rolled up.", "`gauntlet warehouse rollup` does that."
        )
        return
    st.caption(f"The last {days} days beside the {days} before; medians of attempts that passed.")
    shown = frames.longest(rows)
    shell.table(
        shown.assign(link=[view.link("durations", job=key) for key in shown["job_key"]]),
        {
            "job_key": "job",
            "group_key": "group",
            "attempts": shell.number("attempts"),
            "p50_min": shell.number("median (min)", form="%.1f"),
            "p90_min": shell.number("p90 (min)", form="%.1f"),
            "p50_min_before": shell.number("median before (min)", form="%.1f"),
            "change_pct": shell.number("change", form="%+.1f %%"),
            "direction": st.column_config.TextColumn(
                "direction", help="pointed out from 5 % on; whether it is noise is not judged here"
            ),
            "p90_wait_min": shell.number("p90 wait (min)", form="%.1f"),
            "link": shell.link_column("", "trend"),
        },
        looks={"direction": frames.CHANGES},
        name="Longest jobs",
    )


def _costs(view: View, days: int) -> None:
    rows = view.frame("costs", days=days)
    if rows.empty:
        shell.nothing("No costs yet.", "`gauntlet warehouse rollup` makes them of job attempts.")
        return
    unpriced = float(rows["hours_without_price"].sum())
    total, hours = float(rows["cost_usd"].sum()), float(rows["hours"].sum())
    st.caption(f"{total:,.0f} USD in {days} days for {hours - unpriced:,.0f} hours with a price.")
    if unpriced > 0:
        st.caption(
            f":material/warning: {unpriced:,.1f} hours ran on queues without a price; they are"
            " not in these figures."
        )
    shown, left_out = frames.dearest(rows)
    shell.chart(charts.costs(shown), name="cost of each group in USD, stacked by vendor")
    if left_out:
        st.caption(f"{left_out} groups that cost less are left out of the chart, not of the sum.")
    shell.download("All groups as CSV", rows.to_csv(index=False), file_name="costs.csv")


def _lost(view: View, days: int) -> None:
    rows = view.frame("minutes_lost", days=days)
    if rows.empty:
        shell.nothing("No attempt failed in these days.", "")
        return
    words = ["no price" if pd.isna(cost) else f"{cost:,.0f} USD" for cost in rows["cost_usd"]]
    st.caption("Minutes of attempts that did not pass, on all branches.")
    shell.chart(
        charts.lost(rows.assign(hours=rows["minutes"] / 60, words=words)),
        name="hours lost to attempts that failed, by cause, with their cost",
    )
