"""Draws the page Nightly: what is new since last night?"""

import json
import shlex
from collections.abc import Mapping, Sequence
from datetime import date
from functools import partial
from typing import Any

import streamlit as st

from gauntlet.analyzer.history.commits import short
from gauntlet.analyzer.history.layout import night_lines
from gauntlet.analyzer.history.nightly import NightReport
from gauntlet.hud import palette, shell
from gauntlet.hud.nightly import charts
from gauntlet.hud.nightly.ci import draw_ci
from gauntlet.hud.nightly.data import report_of
from gauntlet.hud.nightly.findings import (
    SECTIONS,
    Told,
    line_frame,
    lines,
    recorded,
    told,
    top_changes,
)
from gauntlet.hud.shell.view import View

Rows = Sequence[Mapping[str, Any]]

_NIGHTS = 400
# A step that counts as new is at most two weeks old; more nights tell the noise, and take longer.
_JUDGED_BY = 60
_KEPT_S = 600
_RERUNS_SHOWN = 8


def draw(view: View) -> None:
    """Draw the night of the address, or the newest on which anything was measured."""
    nights = view.rows("nights", days=_NIGHTS)
    if not nights:
        shell.nothing(
            f"Nothing was measured in the last {_NIGHTS} nights.",
            "`gauntlet bench run` measures a recipe; `gauntlet ingest` reads nightly results.",
        )
        return
    night = _night(nights, view)
    of_night = next((row for row in nights if row["night"] == night), None)
    # Findings are read first, but judging them takes a moment: CI is drawn meanwhile.
    engine = st.container()
    with engine:
        if of_night is None:
            newest = nights[0]["night"]
            shell.nothing(
                f"Nothing was measured on the night {night}.",
                f"The newest that has runs: {newest}.",
            )
            shell.links({f"the night {newest}": view.link("nightly", night=newest)})
        else:
            _tiles(of_night)
        findings = st.container()
    with shell.section("CI of that night"):
        draw_ci(night, view)
    if of_night is not None:
        with findings:
            _engine(night, view)


def _night(nights: Rows, view: View) -> date:
    newest: date = nights[0]["night"]
    oldest: date = nights[-1]["night"]
    wanted = str(st.query_params.get("night", ""))
    asked = _parsed(wanted)
    if wanted and (asked is None or not oldest <= asked <= newest):
        st.warning(
            f"Nights are dates between {oldest} and {newest}; showing the newest.",
            icon=":material/warning:",
        )
        st.text(wanted)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        night = st.date_input(
            "Night (the UTC day on which its runs began)",
            value=newest,
            min_value=oldest,
            max_value=newest,
            key="night",
            bind="query-params",
            width=300,
        )
        with st.container(width="content"):
            _neighbours(night, nights, view)
    return night


def _parsed(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None  # said on the page


def _neighbours(night: date, nights: Rows, view: View) -> None:
    """Links to the nights with runs before and after this one."""
    earlier = next((row["night"] for row in nights if row["night"] < night), None)
    later = next((row["night"] for row in reversed(nights) if row["night"] > night), None)
    ways = {"previous night": earlier, "next night": later}
    links = {
        words: view.link("nightly", night=each) for words, each in ways.items() if each is not None
    }
    if links:
        shell.links(links)


def _tiles(night: Mapping[str, Any]) -> None:
    shell.tiles(
        [
            ("Runs", str(night["runs"]), "that began on this UTC day"),
            ("Series measured", str(night["series"]), "a workload's point, or an eval"),
            ("Repetitions", str(night["repetitions"]), None),
            ("Refused", str(night["refused"]), "repetitions that are not valid"),
        ]
    )


def _engine(night: date, view: View) -> None:
    alerts = view.rows("night_alerts", night=night)
    anew = False
    if alerts:
        newest = max(row["at"] for row in alerts)
        with shell.section("What is new"):
            st.caption(
                f"As `gauntlet analyze nightly` recorded it {view.ago(newest)}. It records what is"
                " new; what goes on, and what is to be measured again, is judged when asked for."
            )
            _findings(recorded(alerts), view)
        anew = st.toggle("Judge this night anew", key="judge", bind="query-params")
    if alerts and not anew:
        return
    with shell.section("Judged anew" if alerts else "What is new"):
        with st.spinner("Judging the night…"):
            report = view.value(
                "night_report",
                partial(report_of, night=night, days=_JUDGED_BY),
                night,
                _JUDGED_BY,
                ttl_s=_KEPT_S,
            )
        _report(report, view, recorded_too=bool(alerts))


def _report(report: NightReport, view: View, *, recorded_too: bool) -> None:
    shell.badge(palette.VERDICTS, report.verdict, before=report.night.isoformat())
    st.text(f"{report.reason}; {report.unchanged} of {report.series} statistics unchanged")
    which = "" if recorded_too else " No alert of this night is recorded."
    st.caption(
        f"Judged now, by the {_JUDGED_BY} nights before it.{which} `gauntlet analyze nightly`"
        " looks back further, and may date old changes otherwise."
    )
    _findings(told((*report.new, *report.missing)), view)
    _table("Goes with what was announced", told(report.joined), view)
    _table("Known before, and still so", told(report.ongoing), view)
    _reruns(report)
    with st.container(horizontal=True):
        text = "\n".join(night_lines(report, everything=True))
        name = f"night-{report.night}"
        shell.download("As text", text, file_name=f"{name}.txt", mime="text/plain")
        plain = json.dumps(report.plain(), indent=2)
        shell.download("As JSON", plain, file_name=f"{name}.json", mime="application/json")


def _findings(found: Sequence[Told], view: View) -> None:
    if not found:
        st.success("Nothing new, and no point is missing.", icon=":material/check:")
        return
    top = top_changes(found)
    for title in SECTIONS:
        _table(title, [each for each in found if each.section == title], view)
    if len(top) > 1:
        shell.chart(
            charts.changes(top), name=f"The {len(top)} largest new changes with their intervals"
        )


def _table(title: str, found: Sequence[Told], view: View) -> None:
    if not found:
        return
    st.html(f"<b>{title}</b>")
    columns: shell.Columns = {
        "verdict": "verdict",
        "recipe": "recipe",
        "where": "where",
        "statistic": "statistic",
        "effect": "largest change",
        "series": "series",
        "since": "since",
        "commits": "commits between",
        "compare": shell.link_column("builds", "compare"),
        "history": shell.link_column("series' history", "history"),
        "kind": "kind",
        "why": "why",
    }
    frame = line_frame(lines(found), view)
    empty = {
        name
        for name in ("statistic", "effect", "commits", "compare")
        if not frame[name].isin(["", "\N{EN DASH}", None]).eq(False).any()
    }
    kept = {name: heading for name, heading in columns.items() if name not in empty}
    shell.table(frame, kept, name=title, rows_shown=8, looks={"verdict": palette.VERDICTS})


def _reruns(report: NightReport) -> None:
    plan = report.reruns.reruns
    if not plan:
        return
    st.html("<b>To be measured again</b>")
    for each in plan[:_RERUNS_SHOWN]:
        where = f"{each.recipe} {each.workload} {each.point}".rstrip()
        st.text(f"{where}: {short(each.suspect)} against {short(each.parent)}")
        if each.command:
            st.code(shlex.join(each.command), language=None, wrap_lines=True)
        else:
            st.text(each.note)
    rest = len(plan) - _RERUNS_SHOWN
    if rest > 0:
        st.caption(f"And {rest} more: the files below have all of them.")
