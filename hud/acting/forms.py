"""Forms of the acts; nothing is drawn for a viewer who may not act."""

import secrets

import streamlit as st

from gauntlet.core.clock import utc_now
from gauntlet.core.errors import GauntletError
from gauntlet.hud.acting.acts import Act, Kind
from gauntlet.hud.shell.view import View
from gauntlet.hud.shell.words import plain
from gauntlet.warehouse.batch import Batch
from gauntlet.warehouse.delivery import deliver

_DAYS = 7
_NOTES = 20
_TITLES: dict[Kind, tuple[str, str]] = {
    "annotation": ("Annotate", ":material/add_comment:"),
    "quarantine": ("Quarantine", ":material/block:"),
    "waiver": ("Waive", ":material/flag:"),
}
_ENDS: dict[Kind, str] = {
    "annotation": "Annotate",
    "quarantine": "Release from quarantine",
    "waiver": "Withdraw",
}


def act_form(
    view: View,
    kind: Kind,
    subject: str,
    *,
    run_id: str = "",
    active: bool = False,
    covers: tuple[str, ...] = (),
    commit: str = "",
) -> None:
    """Offer one act about a subject; ``active`` offers to end it instead.

    ``covers`` are the problems that a waiver lets pass, as they are shown now, at ``commit``.

    The act is kept on this machine before it is said to be kept, and shipped at once.
    """
    if view.actor is None:
        return
    title, icon = (_ENDS[kind], ":material/undo:") if active else _TITLES[kind]
    token_key = f"act/{kind}/{subject}/{run_id}/{active}"
    token = st.session_state.setdefault(token_key, secrets.token_hex(12))
    with st.popover(f"{title}…", icon=icon), st.form(f"{token_key}/form", border=False):
        st.caption(f"As {plain(view.actor)}, about")
        st.code(subject, language=None)
        reason = st.text_input("Reason", max_chars=500)
        days = None
        if kind != "annotation" and not active:
            days = st.number_input("For days", min_value=1, max_value=30, value=_DAYS)
        if st.form_submit_button(title, type="primary"):
            act = Act(
                kind=kind,
                subject=subject,
                reason=reason,
                actor=view.actor,
                token=token,
                run_id=run_id,
                days=int(days) if days is not None else None,
                undo=active,
                covers=covers,
                commit=commit,
            )
            if _keep(view, act):
                del st.session_state[token_key]
                view.reader.forget()
                st.toast("Kept.", icon=":material/check:")
                st.rerun()


def notes(view: View, subject: str) -> None:
    """Draw what people noted about a subject, the newest first."""
    for row in view.rows("decisions_about", subject=subject, limit=_NOTES):
        if row["kind"] == "annotation":
            # Free text: never Markdown.
            st.text(f"{view.zone.text(row['at'])} {row['actor']}: {row['reason']}")


def subject_forms(view: View, subject: str, *, held: bool) -> None:
    """Draw the notes about a test or job; offer a note, and a quarantine or (``held``) its end."""
    notes(view, subject)
    if view.actor is None:
        return
    with st.container(horizontal=True):
        act_form(view, "quarantine", subject, active=held)
        act_form(view, "annotation", subject)


def _keep(view: View, act: Act) -> bool:
    try:
        now = utc_now()
        batch = Batch.of(f"hud/{act.token}", (act.row(now),), source="hud", created_at=now)
        deliver(view.reader.location, [batch])
    except GauntletError as error:
        st.error(f"{plain(error.message)}\n\n{plain(error.hint or '')}", icon=":material/error:")
        return False
    return True
