"""Draws the page Releases: candidates, their gates, and what blocks."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from gauntlet.hud import palette, shell
from gauntlet.hud.acting.forms import act_form
from gauntlet.hud.releases.frames import (
    Gate,
    artifacts,
    blockers,
    candidate_frame,
    commit_of,
    gates_of,
    problems,
)
from gauntlet.hud.shell.times import duration
from gauntlet.hud.shell.view import View


def draw(view: View) -> None:
    """Draw all candidates, or the one of the address."""
    rows = view.rows("candidates")
    if not rows:
        shell.nothing(
            "No candidate was decided on yet.",
            "`make demo` decides on one; `gauntlet bench run` measures, and gates decide on that.",
        )
        return
    wanted = st.query_params.get("candidate")
    chosen = next((row for row in rows if row["run_id"] == wanted), None)
    if wanted and chosen is None:
        st.warning("There is no such candidate; these there are.", icon=":material/warning:")
        st.text(wanted)
    if chosen is None:
        _overview(rows, view)
    else:
        _candidate(chosen, view)


def _overview(rows: Sequence[Mapping[str, Any]], view: View) -> None:
    newest = rows[0]
    qualified = next((row for row in rows if row["outcome"] == "QUALIFIED"), None)
    shell.tiles(
        [
            ("Newest candidate", newest["run_id"], newest["reason"]),
            ("Its decision", palette.signed(palette.DECISIONS, newest["outcome"]), None),
            ("Newest qualified", qualified["run_id"] if qualified else "none", None),
            ("Waivers that hold", str(sum(len(row["waived"]) for row in rows)), None),
        ]
    )
    frame = candidate_frame(rows, view)
    gates = [name for name in frame.columns if name.startswith("gate ")]
    columns: shell.Columns = {
        "candidate": shell.link_column("candidate", r"candidate=([^&]+)"),
        "decision": "decision",
        **{name: name.removeprefix("gate ") for name in gates},
        "version": "version",
        "commit": "commit",
        "image": "image",
        "decided": shell.time_column("decided", view.zone),
        "why": "why",
    }
    shell.table(
        frame,
        columns,
        name="candidates, newest first",
        looks={"decision": palette.DECISIONS, **dict.fromkeys(gates, palette.GATES)},
    )


def _candidate(row: Mapping[str, Any], view: View) -> None:
    run_id = str(row["run_id"])
    decisions = view.rows("run_decisions", run_id=run_id)
    links = {"all candidates": view.link("releases")}
    if row["repetitions"]:
        # A candidate of a release is measured by runs of other names, which its gates list.
        links["its measurements"] = view.link("run", run=run_id)
    shell.links(links)
    st.header(f"{palette.signed(palette.DECISIONS, row['outcome'])}: {run_id}", anchor=False)
    facts = {
        "version": row["version"],
        "commit": commit_of(row),
        "image": row["image_digest"],
        "decided": f"{view.zone.text(row['at'])} {view.zone.name}",
        "policy": row["policy"],
    }
    shell.facts({name: value for name, value in facts.items() if value})
    gates = gates_of(decisions)
    for column, gate in zip(st.columns(max(len(gates), 1)), gates, strict=False):
        with column.container(border=True):
            _gate(gate, row, view)
    with shell.section("What blocks"):
        found, standing = blockers(decisions), problems(gates)
        if not standing.empty:
            columns = {"state": "state", "gate": "gate", "why": "why"}
            shell.table(standing, columns, name="problems", looks={"state": palette.GATES})
        elif found.empty:
            st.success("No blocking verdict stands against it.", icon=":material/check_circle:")
        else:
            columns = {"verdict": "verdict", "objective": "objective", "why": "why"}
            shell.table(found, columns, name="what blocks", looks={"verdict": palette.VERDICTS})
    with shell.section("Artifacts"):
        listed = artifacts(row["evidence"])
        if listed.empty:
            shell.nothing("No artifact is on record for this candidate.", "Nothing was built yet.")
        else:
            columns = {name: name for name in listed.columns}
            shell.table(listed, columns, name="artifacts with digests")
    act_form(view, "annotation", f"candidate/{run_id}", run_id=run_id)


def _gate(gate: Gate, row: Mapping[str, Any], view: View) -> None:
    waived = gate.waived(view.now)
    shell.badge(palette.GATES, gate.state, before=gate.name)
    if gate.waiver is not None:
        ends = gate.waiver["expires_at"]
        left = "for good" if ends is None else f"until {view.zone.text(ends)} {view.zone.name}"
        if waived:
            rest = "" if ends is None else f", {duration((ends - view.now).total_seconds())} left"
            shell.badge(palette.GATES, "WAIVED")
            st.text(f"by {gate.waiver['actor']} {left}{rest}: {gate.waiver['reason']}")
        else:
            st.text(f"A waiver by {gate.waiver['actor']} no longer holds ({left}).")
    if gate.reason:
        st.text(gate.reason)
    if gate.state != "PASS":
        act_form(
            view,
            "waiver",
            f"gate/{gate.name}",
            run_id=str(row["run_id"]),
            active=waived,
            covers=tuple(problem.key for problem in gate.problems),
            commit=commit_of(row),
        )
