"""Draws the page of one run: is the candidate fit to ship, and why?"""

from html import escape
from typing import Any

import pandas as pd
import streamlit as st

from gauntlet.analyzer.verdict import objective_label
from gauntlet.hud import charts, palette, shell
from gauntlet.hud.run.charts import pairs
from gauntlet.hud.run.data import RunPage, by_severity, changed_answers, load_run
from gauntlet.hud.shell.view import View

_FINISHED_TTL_S = 600.0


def draw(view: View) -> None:
    """Draw the run of the address, or else the newest."""
    chosen = _choose(view.rows("runs", limit=200))
    if chosen is None:
        shell.nothing(f"No run in {view.reader.location} yet.", "`make demo` makes one.")
        return
    # A finished run does not change; its last update is part of the key.
    page = view.value(
        "run page",
        lambda store: load_run(store, chosen),
        chosen["run_id"],
        str(chosen["updated_at"]),
        ttl_s=_FINISHED_TTL_S,
    )
    _headline(page, view)
    shell.answered()
    with shell.section("Verdicts"):
        _verdicts(page)
    with shell.section("Latency"):
        _measurements(page)
    with shell.section("Answers that changed"):
        _answers(page)
    _record(page)


def _choose(runs: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The run of the URL, or else the newest."""
    if not runs:
        return None
    ids = [str(run["run_id"]) for run in runs]
    shell.warn_unless_known("run", ids, "showing the newest")
    chosen = st.selectbox("Run", ids, key="run", bind="query-params")
    return runs[ids.index(chosen)]


def _headline(page: RunPage, view: View) -> None:
    run = page.run
    outcome = page.release["outcome"] if page.release else f"no decision ({run['status']})"
    shell.badge(palette.DECISIONS, outcome, before=str(run["run_id"]))
    started = f"{view.zone.text(run['started_at'])} {view.zone.name}"
    st.caption(
        f"run {run['run_id']} · recipe {run['recipe']} · {run['engine_kind']} on {run['host']} · "
        f"seed {run['seed']} · {started}"
    )
    if run["status"] != "complete":
        said = f"This run is {run['status']}. {shell.plain(run['reason'])}"
        st.warning(said, icon=":material/warning:")
    columns = st.columns(max(len(page.gates), 1) + 1)
    for column, gate in zip(columns, page.gates.to_dict("records"), strict=False):
        with column:
            shell.badge(palette.GATES, gate["outcome"], before=gate["subject"])
    if page.selection:
        columns[-1].markdown(
            f"**tests selected**  \n{page.selection['outcome']} ({page.selection['subject']})",
            help=page.selection["reason"],
        )


def _verdicts(page: RunPage) -> None:
    if page.verdicts.empty:
        st.info("Nothing was judged in this run.")
        return
    table = by_severity(page.verdicts)
    stopped = table[table["blocking"] & ~table["outcome"].isin(["same", "better"])]
    lines = [
        f"<li><b>{escape(objective_label(row['subject']))}</b>"
        f" is {escape(row['outcome'])}: {escape(row['reason'])}</li>"
        for row in stopped.to_dict("records")
    ]
    if lines:
        st.html(f"<ul>{''.join(lines)}</ul>")
    left, right = st.columns([2, 1], gap="medium")
    rows = [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]
    shown = pd.DataFrame(
        {
            "verdict": table["outcome"],
            "objective": table["subject"].map(objective_label),
            "baseline": _with_unit(table, "baseline"),
            "candidate": _with_unit(table, "candidate"),
            "change": [_change(row) for row in rows],
            "interval": [_interval(row) for row in rows],
            "margin": [f"{row['margin']:g} {_unit(row)}" for row in rows],
        }
    )
    with left:
        shell.table(
            shown,
            {str(name): str(name) for name in shown.columns},
            name="verdicts, those that stop a release first",
            rows_shown=len(shown),
            looks={"verdict": palette.VERDICTS},
        )
    with right:
        shell.chart(charts.effects(table), name="loss of each objective in margins, with interval")


def _unit(row: dict[str, Any]) -> str:
    return "pp" if row["unit"] == "points" else str(row["unit"])


def _change(row: dict[str, Any]) -> str:
    return "-" if pd.isna(row["effect"]) else f"{row['effect'] + 0.0:+.1f} {_unit(row)}"


def _interval(row: dict[str, Any]) -> str:
    if pd.isna(row["effect"]):
        return "-"
    return f"[{row['lower']:+.1f}, {row['upper']:+.1f}]"


def _with_unit(table: pd.DataFrame, column: str) -> list[str]:
    units = table["value_unit"]
    return [
        "-" if pd.isna(value) else f"{value:,.1f} {unit}"
        for value, unit in zip(table[column], units, strict=True)
    ]


def _measurements(page: RunPage) -> None:
    if page.distributions.empty:
        st.info("No load was measured in this run.")
        return
    chosen = shell.choose(
        "Metric", ["tpot_ms", "ttft_ms", "e2e_ms"], key="metric", default="tpot_ms"
    )
    for workload in page.distributions["workload"].unique():
        left, right = st.columns(2, gap="medium")
        left.markdown(f"**{shell.plain(workload)}**: median of every repetition, pair by pair")
        with left:
            shell.chart(
                pairs(page.metrics, workload, chosen, "p50"),
                name=f"median {chosen} of each repetition of {workload}, pair by pair",
            )
        right.markdown(f"**{shell.plain(workload)}**: requests of all valid repetitions")
        with right:
            shell.chart(
                charts.distribution(page.distributions, workload, chosen),
                name=f"distribution of {chosen} over the requests of {workload}",
            )


def _answers(page: RunPage) -> None:
    changed = changed_answers(page.eval_pairs)
    if changed.empty:
        st.info("Both sides answered every question alike, or none was asked.")
        return
    lost = int((changed["change"] < 0).sum())
    asked = len(page.eval_pairs)
    st.markdown(f"{lost} lost, {len(changed) - lost} gained of {asked} questions.")
    columns = ["task", "item_id", "expected", "baseline_answer", "candidate_answer", "change"]
    st.dataframe(changed[columns], hide_index=True, width="stretch", height=240)


def _record(page: RunPage) -> None:
    with st.expander("Record: every repetition with its provenance"):
        st.dataframe(page.repetitions, hide_index=True, width="stretch")
