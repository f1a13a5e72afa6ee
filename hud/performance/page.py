"""Draws the page Performance: did a recipe get slower, and when?"""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.elements.lib.column_types import ColumnConfig

from gauntlet.analyzer.history.from_store import Judged
from gauntlet.analyzer.history.report import Described, HistoryReport, State
from gauntlet.analyzer.measured import Statistic
from gauntlet.hud import palette, shell
from gauntlet.hud.performance import charts, frames, frontier
from gauntlet.hud.performance.data import Asked, load_recipe, load_report, of_series
from gauntlet.hud.performance.pickers import Choice, pick_range, pick_series, pick_statistic
from gauntlet.hud.shell.times import NONE
from gauntlet.hud.shell.view import View

# Nights come in once a day; a later repetition is part of the key, and asks anew.
_TTL_S = 600.0
_HISTORY_DAYS = 400
_LOOKS = {"state": palette.VERDICTS}
_REPETITION_DAYS = 90
_LATE_S = 36 * 3600
_SMALL_IN_A_ROW = 3
_MOST_SMALL = 12
_MOST_CHANGES = 200


def draw(view: View) -> None:
    """Draw one series, or all of them where the address names none."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        statistic = pick_statistic(view.rows("known_statistics", ttl_s=_TTL_S))
        known = view.rows("known_series", metric=statistic.metric, statistic=statistic.statistic)
        series = pick_series(known)
        days = pick_range() if series else 0
    if not known:
        shell.nothing(
            f"No nightly load in {view.reader.location} yet.",
            "`gauntlet perf-eval run` measures one; sides of comparisons are on the page Run.",
        )
        return
    newest = max(row["last_measured"] for row in known)
    if series is None:
        recipes = {row["recipe"] for row in known}
        shell.tiles(
            [
                ("Series", str(len(known)), "recipe, point and accelerator"),
                ("Recipes", str(len(recipes)), None),
                ("Newest night", view.ago(newest), f"{view.zone.text(newest)} {view.zone.name}"),
            ]
        )
    shell.newest_note("night", newest, view, late_s=_LATE_S)
    if series is None:
        with shell.section("All series"):
            _overview(view, known, statistic)
    else:
        _one(view, series, Choice(statistic=statistic, days=days))
    with shell.section("Missing points", "expected, because two of the last 14 nights had them"):
        _missing(view, known, series)


def _overview(view: View, known: Sequence[dict[str, Any]], statistic: Statistic) -> None:
    place = st.empty()
    with place.container():
        _series_table(view, known, None, statistic)
        st.caption("The history of every series is being judged …")
    asked = _asked(view, "", statistic, _HISTORY_DAYS)
    report = view.value(
        "history of all series",
        lambda store: load_report(store, asked),
        asked,
        _newest(known),
        ttl_s=_TTL_S,
    )
    with place.container():
        counts = pd.Series([state.verdict for state in report.states]).value_counts()
        st.markdown(", ".join(f"**{count}** {word}" for word, count in counts.items()))
        _series_table(view, known, report, statistic)
    changes = frames.changes_frame(report.findings)
    counting = changes[changes["counts"] == "yes"].head(_MOST_CHANGES).reset_index(drop=True)
    with shell.section("Changes found"):
        _changes(view, counting, statistic)


def _series_table(
    view: View, known: Sequence[dict[str, Any]], report: HistoryReport | None, statistic: Statistic
) -> None:
    table = frames.overview_frame(
        known, report, now=view.now, link=lambda name: _link(view, name, statistic)
    )
    columns: dict[str, str | ColumnConfig] = {
        "link": shell.link_column("", "open"),
        "state": "state",
        "recipe": "recipe",
        "point": "point",
        "accelerator": "accelerator",
        "newest": f"newest {statistic.metric} {statistic.statistic}",
        "change": "against the level before (95 %)",
        "since": "since",
        "age_d": st.column_config.NumberColumn("age (days)", help="of the newest night"),
        "missing": "nights missing",
        "why": "why",
    }
    shell.table(table, columns, name="all series, the gravest first", rows_shown=24, looks=_LOOKS)


def _one(view: View, row: dict[str, Any], choice: Choice) -> None:
    asked = _asked(view, row["recipe"], choice.statistic, max(_HISTORY_DAYS, choice.days))
    judged = view.value(
        "history of a recipe",
        lambda store: load_recipe(store, asked),
        asked,
        str(row["last_measured"]),
        ttl_s=_TTL_S,
    )
    described, findings = of_series(judged, row["series_id"])
    if described is None:
        shell.nothing(
            "This series has no such number.",
            f"Choose another metric than `{choice.statistic.metric}`, or another statistic.",
        )
        return
    since = view.now.date() - timedelta(days=choice.days)
    changes = frames.changes_frame(findings)
    _state(judged, described)
    with shell.section("Night by night"):
        _chart(view, choice, described, changes, since)
    with shell.section("Changes of the recipe"):
        _changes(view, frames.changes_frame(judged.report.findings), choice.statistic)
    others = [each for each in judged.described if len(judged.described) > 1]
    if others:
        with shell.section("All points of the recipe"):
            _small(others, since)
    with shell.section("Frontier", "throughput against what one user sees, of two builds"):
        frontier.draw(view, row["recipe"], judged, str(row["last_measured"]))


def _state(judged: Judged, described: Described) -> None:
    key = (described.series.series_id, described.series.statistic)
    state = next(s for s in judged.report.states if (s.series_id, s.statistic) == key)
    shell.tiles(_tiles(state))
    st.text(state.reason)


def _tiles(state: State) -> list[tuple[str, str, str | None]]:
    noise = NONE if state.noise_percent is None else f"{state.noise_percent:.2g} %"
    level = NONE if state.level is None else f"{state.level:,.4g} {state.unit}"
    return [
        ("verdict", palette.signed(palette.VERDICTS, state.verdict), None),
        ("present level", level, "mean of its nights, outliers clipped"),
        ("since", str(state.since or NONE), "first night of the present level"),
        ("noise of one night", noise, "relative standard deviation"),
        ("nights without a number", str(state.missing), "of the present configuration"),
    ]


def _chart(
    view: View, choice: Choice, described: Described, changes: pd.DataFrame, since: date
) -> None:
    series = described.series
    notes = view.rows("decisions_about", subject=f"series/{series.series_id}")
    nights = frames.nights_frame(series, since)
    if nights.empty:
        shell.nothing(f"No night since {since}.", "Choose a longer range.")
        return
    repetitions = []
    if choice.days <= _REPETITION_DAYS:
        repetitions = view.rows(
            "series_repetitions",
            series_id=series.series_id,
            metric=choice.statistic.metric,
            statistic=choice.statistic.statistic,
            days=choice.days + 1,
        )
    events = [
        frames.events_frame(series, notes, since, view.zone),
        frames.missing_frame(nights),
    ]
    counting = (changes["counts"] == "yes") & (changes["at"] >= frames.instant(since))
    drawn = charts.History(
        nights=nights,
        repetitions=frames.repetitions_frame(repetitions, since),
        levels=frames.levels_frame(described, since),
        changes=changes[counting],
        events=pd.concat(events, ignore_index=True),
    )
    words = _words(described)
    shell.chart(charts.history(drawn, words), name=f"{words.place}: {words.title}, night by night")
    _explain(drawn)


def _explain(drawn: charts.History) -> None:
    said = ["points: median of a night", "band: level with its 95 % interval"]
    if len(drawn.repetitions):
        said.insert(1, "faint points: repetitions")
    marks = charts.legend(drawn.events)
    st.caption(" · ".join([*said, *([f"below: {marks}"] if marks else [])]))
    if len(drawn.events):
        with st.expander(f"Events and missing nights ({len(drawn.events)})"):
            listed = drawn.events.sort_values("at", ascending=False)
            shell.table(listed, {"what": "what", "text": "text"}, name="events and missing nights")


def _words(described: Described) -> charts.Words:
    series = described.series
    return charts.Words(
        place=frames.place_label(series.place._asdict()),
        metric=series.statistic.metric,
        statistic=series.statistic.statistic,
        unit=series.unit,
        higher_is_better=series.higher_is_better,
    )


def _small(described: Sequence[Described], since: date) -> None:
    ordered = sorted(described, key=lambda each: frames.natural(each.series.place.point))
    for start in range(0, min(len(ordered), _MOST_SMALL), _SMALL_IN_A_ROW):
        row = ordered[start : start + _SMALL_IN_A_ROW]
        for column, each in zip(st.columns(_SMALL_IN_A_ROW), row, strict=False):
            place = each.series.place
            title = " ".join(filter(None, (place.point or place.workload, place.accelerator)))
            drawn = charts.small(
                frames.nights_frame(each.series, since),
                frames.levels_frame(each, since),
                _words(each),
                title,
            )
            with column:
                shell.chart(drawn, name=f"{_words(each).title} at {title}")
    if len(ordered) > _MOST_SMALL:
        st.caption(f"{len(ordered) - _MOST_SMALL} more points: choose them above.")


def _changes(view: View, changes: pd.DataFrame, statistic: Statistic) -> None:
    if changes.empty:
        st.caption("No change of a level was found.")
        return
    table = changes.assign(
        state=[palette.signed(palette.VERDICTS, state) for state in changes["state"]],
        series=[_link(view, name, statistic) for name in changes["series_id"]],
        commit=pd.Series([_commit(view, sha) for sha in changes["until"]], dtype=object),
        compare=pd.Series([_compare(view, r) for r in changes.to_dict("records")], dtype=object),
    )
    columns: dict[str, str | ColumnConfig] = {
        "night": "night",
        "state": "state",
        "kind": "kind",
        "place": "series",
        "change": "change",
        "interval": "95 % interval",
        "commits": "commits between",
        "holds": "still holds",
        "counts": "counts",
        "p": st.column_config.NumberColumn("adjusted p", format="%.2g"),
        "series": shell.link_column("history"),
        "commit": shell.link_column("commit"),
        "compare": shell.link_column("compare"),
        "reason": "in words",
    }
    shell.table(table, columns, name="changes found, newest first", looks=_LOOKS)


def _commit(view: View, sha: str) -> str | None:
    return view.link("", commit=sha) if sha else None


def _compare(view: View, row: dict[Any, Any]) -> str | None:
    if not row["after"] or not row["until"] or row["after"] == row["until"]:
        return None
    sides = {"baseline": f"commit:{row['after']}", "candidate": f"commit:{row['until']}"}
    return view.link("compare", **sides)


def _missing(view: View, known: Sequence[dict[str, Any]], series: dict[str, Any] | None) -> None:
    night = max((row["newest_night"] for row in known if row["newest_night"]), default=None)
    if night is None:
        st.caption("No night has this number.")
        return
    rows = [
        row
        for row in view.rows("missing_points", night=night)
        if row["kind"] == "load" and (series is None or row["recipe"] == series["recipe"])
    ]
    if not rows:
        st.caption(f"Nothing that was expected is missing on {night}.")
        return
    table = pd.DataFrame(rows)
    table["why"] = ["; ".join(row["reasons"]) or "nothing was recorded" for row in rows]
    columns: dict[str, str | ColumnConfig] = {
        "state": "state",
        "recipe": "recipe",
        "point": "point",
        "accelerator": "accelerator",
        "why": "why",
        "nights_seen": st.column_config.NumberColumn("nights seen", help="of the last 14"),
        "last_seen": shell.time_column("last seen", view.zone),
    }
    st.caption(f"Night {night}.")
    shell.table(table, columns, name=f"points missing on {night}")


def _asked(view: View, recipe: str, statistic: Statistic, days: int) -> Asked:
    return Asked(recipe=recipe, statistic=statistic, night=view.now.date(), days=days)


def _newest(known: Sequence[dict[str, Any]]) -> str:
    return str(max(row["last_measured"] for row in known))


def _link(view: View, series_id: str, statistic: Statistic) -> str:
    return view.link(
        "performance",
        series=series_id,
        metric=statistic.metric,
        statistic=statistic.statistic,
    )
