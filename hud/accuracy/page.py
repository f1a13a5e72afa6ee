"""Draws the page Accuracy: does it answer worse, and where?"""

from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Any

import pandas as pd
import streamlit as st

from gauntlet.hud import palette, shell
from gauntlet.hud.accuracy import charts
from gauntlet.hud.accuracy.frames import (
    FIRST,
    Standing,
    evals_frame,
    label_of,
    overview_frame,
    score_points,
    standings,
)
from gauntlet.hud.accuracy.side_by_side import side_by_side
from gauntlet.hud.acting.forms import act_form
from gauntlet.hud.outcomes import count
from gauntlet.hud.shell.view import View

Rows = Sequence[Mapping[str, Any]]

_DAYS = 60
_SERIES_DAYS = 400
_LATE_S = 36 * 3600


def draw(view: View) -> None:
    """Draw all series, or the one of the address."""
    series = str(st.query_params.get("series", ""))
    task = str(st.query_params.get("task", ""))
    if series and task:
        rows = view.rows("series_scores", series_id=series, task=task, days=_SERIES_DAYS)
        if rows:
            _series(rows, series, task, view)
            return
        st.warning(
            f"There is no such series of that task in {_SERIES_DAYS} days; these there are.",
            icon=":material/warning:",
        )
        st.text(f"series {series}, task {task}")
        series = task = ""
    _overview(series, task, view)


def _overview(series: str, task: str, view: View) -> None:
    night = view.now.astimezone(UTC).date()
    rows = view.rows("score_history", night=night, days=_DAYS)
    if not rows:
        shell.nothing(
            f"No eval was measured in the last {_DAYS} days.",
            "`gauntlet bench run` measures recipes that have evals, and `gauntlet ingest`"
            " reads nightly ones. Sides of a comparison are on the page Run.",
        )
        return
    every = standings(rows)
    shell.tiles(
        [
            ("Series and tasks", str(len(every)), f"with a score in the last {_DAYS} days"),
            ("Worse", _tally(every, "worse"), "a drop that counts, by the analyzer"),
            ("To be rerun", _tally(every, "inconclusive"), "a drop close to the threshold"),
            ("Missing", _tally(every, "missing"), "not measured on the newest night"),
        ]
    )
    newest = max(each.row["started_at"] for each in every)
    shell.newest_note("score", newest, view, late_s=_LATE_S)
    find = st.text_input(
        "Series, recipes and tasks whose name has", key="find", bind="query-params", width=320
    )
    chosen = [
        each
        for each in every
        if (not series or each.row["series_id"] == series)
        and (not task or each.row["task"] == task)
        and find.lower()
        in f"{each.row['series_id']} {each.row['recipe']} {each.row['task']}".lower()
    ]
    if not chosen:
        shell.nothing("No series has such a name.", "Empty the filter to see all of them.")
        return
    columns: shell.Columns = {
        "series": shell.link_column("series", r"series=([^&]+)"),
        "task": "task",
        "verdict": "against nights before",
        "value": "newest",
        "interval": "95 % interval",
        "change": "change",
        "n": "n",
        "measured": shell.time_column("measured", view.zone),
        "whole": "whole?",
        "recipe": "recipe",
        "score": "score",
        "better": "better",
        "build": "build",
        "scores": f"scores in {_DAYS} d",
        "why": "why",
    }
    shell.table(
        overview_frame(chosen, view),
        columns,
        name="every series and task with its newest score",
        rows_shown=24,
        looks={"verdict": palette.VERDICTS},
    )
    st.caption(
        "A change is against the last whole score under the same harness, task and configuration;"
        " the verdict pools up to 14 of them, and all series share an error rate of 1 %."
        " A partial score is of some of the questions and is not judged."
    )


def _names(row: Mapping[str, Any]) -> str:
    return f"{row['series_id']} {row['recipe']} {row['task']}".lower()


def _tally(standing: Sequence[Standing], verdict: str) -> str:
    return str(sum(each.verdict == verdict for each in standing))


def _series(every: Rows, series: str, task: str, view: View) -> None:
    shell.links({"all series": view.link("accuracy")})
    first = every[0]
    shell.facts(
        {
            "recipe": first["recipe"],
            "task": task,
            "series": series,
            "model": first["model"],
            "accelerator": first["accelerator"] or "not known",
        }
    )
    shell.newest_note("score", first["started_at"], view, late_s=_LATE_S)
    label = _score(every)
    rows = [row for row in every if label_of(row) == label]
    notes = [
        row
        for row in view.rows("decisions_about", subject=f"series/{series}")
        if row["kind"] == "annotation"
    ]
    here = {
        "series": series,
        "task": task,
        "score": label if label != label_of(first) else None,
    }
    with shell.section("Score over time"):
        _history(rows, notes, series, view)
    with shell.section("Side by side"):
        side_by_side(rows, here, view)
    with shell.section("Evals"):
        _evals(rows, here, view)


def _score(rows: Rows) -> str:
    """The score of the address, where a task has several."""
    labels = list(dict.fromkeys(label_of(row) for row in rows))
    wanted = st.query_params.get("score")
    if wanted and wanted not in labels:
        st.warning("No such score; showing the first.", icon=":material/warning:")
    if len(labels) == 1:
        return labels[0]
    return str(st.selectbox("Score", labels, key="score", bind="query-params", width=320))


def _history(rows: Rows, notes: Rows, series: str, view: View) -> None:
    points = score_points(rows, view)
    if points.empty:
        shell.nothing("None of its evals has a value.", "The table below says why.")
    else:
        direction = str(rows[0]["direction"])
        share = all(row["value"] is None or 0 <= row["value"] <= 1 for row in rows)
        changes = int((points["kind"] == FIRST).sum())
        shell.chart(
            charts.scores(
                points, metric=label_of(rows[0]), direction=direction, unit="%" if share else ""
            ),
            name=f"{label_of(rows[0])} of {len(points)} evals over time, {direction} is better; "
            f"{count(changes, 'change')} of configuration",
        )
        _legend(rows, points)
    for note in notes:
        st.text(f"{view.zone.text(note['at'])} {view.zone.name}, {note['actor']}: {note['reason']}")
    act_form(view, "annotation", f"series/{series}")


def _legend(rows: Rows, points: pd.DataFrame) -> None:
    said = ["Bars are 95 % intervals of each score by itself."]
    bare = int(points["low"].isna().sum())
    if bare:
        said.append(f"{count(bare, 'score')} without a known standard error: drawn without a bar.")
    partial = int(points["partial"].sum())
    if partial:
        said.append(f"{count(partial, 'partial score')}: hollow.")
    lost = len(rows) - len(points)
    if lost:
        said.append(f"{count(lost, 'eval')} without any value: not drawn.")
    if (points["kind"] == FIRST).any():
        said.append("After a dashed line scores are not comparable with those before it.")
    st.caption(" ".join(said))


def _evals(rows: Rows, here: Mapping[str, object], view: View) -> None:
    columns: shell.Columns = {
        "measured": shell.time_column("measured", view.zone),
        "build": "build",
        "value": "score",
        "interval": "95 % interval",
        "n": "n",
        "whole": "whole?",
        "status": "status",
        "harness": "harness",
        "config": "configuration",
        "answers": "answers kept",
        "compare": shell.link_column("against the one before", "side by side"),
        "repetition": "repetition",
        "why": "why refused",
    }
    shell.table(evals_frame(rows, view, here), columns, name="evals of this series, newest first")
