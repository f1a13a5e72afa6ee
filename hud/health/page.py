"""Draws the page Health: is Gauntlet itself in order?"""

import pandas as pd
import streamlit as st

from gauntlet.hud import shell
from gauntlet.hud.health import frames
from gauntlet.hud.health.data import is_local, load_waiting
from gauntlet.hud.shell.view import View

_DAYS = 30
_SPOOL_TTL_S = 20.0


def draw(view: View) -> None:
    """Draw what comes in, what does not, what the bot did, and what this HUD asks."""
    with shell.section("Sources"):
        _sources(view)
    with shell.section("Spool"):
        _spool(view)
    with shell.section("Refused rows, last 7 days"):
        _refused(view)
    left, right = st.columns(2, gap="large")
    with left, shell.section(f"Reverts of the bot, last {_DAYS} days"):
        _bot(view)
    with right, shell.section(f"What the selection missed, last {_DAYS} days"):
        _escapes(view)
    with shell.section(f"Alerts, last {_DAYS} days"):
        _alerts(view)
    with shell.section("What this HUD asked"):
        _asked(view)


def _sources(view: View) -> None:
    rows = view.frame("source_rhythm")
    if rows.empty:
        shell.nothing("Nothing was shipped to this warehouse yet.", "`gauntlet ingest` does that.")
        return
    shown = frames.sources(rows)
    late = int((shown["state"] == "late").sum())
    shell.tiles(
        [
            (
                "Sources late",
                f"{late} of {len(shown)}",
                "silent for half as long again as ever between two batches of the last 14 days",
            ),
            ("Rows of the last day", f"{int(shown['rows_last_day'].sum()):,}", "from all sources"),
            ("Newest batch", view.ago(shown["newest"].max()), None),
        ]
    )
    shell.table(
        shown,
        {
            "state": st.column_config.TextColumn(
                "state", help="no rhythm: batches on fewer than three days of the last 14"
            ),
            "source": "source",
            "age": "silent for",
            "usual": "usually between batches",
            "longest": "longest between batches",
            "rows_last_day": shell.number("rows, last day"),
            "batches": shell.number("batches"),
            "newest": shell.time_column("newest batch", view.zone),
        },
        looks={"state": frames.RHYTHM},
        name="Sources and how fresh they are",
    )


def _spool(view: View) -> None:
    location = view.reader.location
    if not is_local(location):
        shell.nothing(
            "The warehouse is a server: what waits for it waits on the machines that ship to it.",
            "`gauntlet ingest status` shows it there.",
        )
        return
    waiting = view.value(
        "spool", lambda _store: load_waiting(location), location, ttl_s=_SPOOL_TTL_S
    )
    if not waiting.parcels and not waiting.set_aside:
        st.success("Nothing waits and nothing is set aside.", icon=":material/check:")
        return
    shell.tiles(
        [
            ("Parcels waiting", f"{waiting.parcels:,}", "shipped by the next `gauntlet ingest`"),
            ("Rows in them", f"{waiting.rows:,}", None),
            ("Set aside", f"{len(waiting.set_aside):,}", "the warehouse refused them for good"),
        ]
    )
    st.text(f"{waiting.folder}: gauntlet ingest replay ships what waits")
    if waiting.set_aside:
        shell.table(
            pd.DataFrame(waiting.set_aside, columns=["file", "reason"]),
            {"file": "file", "reason": "reason"},
            name="Parcels that were set aside",
        )


def _refused(view: View) -> None:
    rows = view.frame("refused")
    if rows.empty:
        st.success("No row was refused.", icon=":material/check:")
        return
    st.caption(f"The newest {len(rows)}; what they held was not stored.")
    shell.table(
        rows.assign(reasons=["; ".join(each) for each in rows["reasons"]]),
        {
            "at": shell.time_column("at", view.zone),
            "source": "source",
            "target": "table",
            "origin": "origin",
            "position": "position",
            "reasons": "reasons",
            "raw": "what was refused",
        },
        name="Refused rows",
    )


def _bot(view: View) -> None:
    rows = view.frame("bot_record", days=_DAYS)
    if rows.empty:
        shell.nothing(
            "No revert is recorded.",
            "The revert bot records each as a decision of the kind `revert`, also in shadow mode.",
        )
        return
    st.markdown(frames.precision(rows))
    shell.table(
        rows,
        {
            "outcome": "outcome",
            "mode": "mode",
            "reverts": "reverts",
            "newest": shell.time_column("newest", view.zone),
        },
        name="Reverts of the bot by outcome",
    )


def _escapes(view: View) -> None:
    rows = view.frame("selection_escapes", days=_DAYS)
    if rows.empty:
        shell.nothing(
            "No escape is recorded.",
            "That is no proof that there was none: an escape is known once a decision of the kind"
            " `selection` with the outcome `escaped` says that a job failed on main which the"
            " selection of its pull request had left out.",
        )
        return
    st.caption(f"Failures on main of jobs that a pull request had left out: {len(rows)}.")
    shell.table(
        rows,
        {"at": shell.time_column("at", view.zone), "subject": "subject", "reason": "reason"},
        name="Failures that the selection missed",
    )


def _alerts(view: View) -> None:
    rows = view.frame("alerts", prefix="", days=_DAYS)
    if rows.empty:
        shell.nothing("No alert was recorded.", "`gauntlet history` records those of the nights.")
        return
    shown = frames.newest_alerts(rows)
    st.caption(f"The newest {len(shown)} of {len(rows)}.")
    shell.table(
        shown,
        {
            "at": shell.time_column("at", view.zone),
            "subject": "subject",
            "outcome": "outcome",
            "reason": "reason",
        },
        name="Newest alerts",
    )


def _asked(view: View) -> None:
    st.caption(
        "Since this HUD was started, for all viewers together; an answer that is still fresh is"
        " not asked for again."
    )
    counts = frames.asked(view.reader.asked)
    shell.table(
        counts,
        {"name": "question", "times": shell.number("times")},
        name="Questions that this HUD asked the warehouse",
        rows_shown=8,
    )
