"""The frame around every page: menu, title, age of what is shown, errors."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.resources import files

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gauntlet.core.clock import utc_now
from gauntlet.core.errors import GauntletError
from gauntlet.hud.acting.actors import READ_ONLY, Actors
from gauntlet.hud.reading import Reader
from gauntlet.hud.shell.menu import menu_html
from gauntlet.hud.shell.times import Zone
from gauntlet.hud.shell.view import View
from gauntlet.hud.shell.words import plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page: its path in the address, its title, and the question that it answers."""

    path: str
    title: str
    icon: str
    question: str
    section: str
    draw: Callable[[View], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """Who looks, and how: the zone of times, parameters that links keep, and who may act.

    ``menu`` is the place that the menu of pages is drawn in.
    """

    menu: DeltaGenerator
    zone: Zone
    kept: Mapping[str, str]
    actor: str | None


def viewer(actors: Actors = READ_ONLY) -> Viewer:
    """Ask how the viewer reads.

    Call it in the script itself, before any page: a widget that each page had for itself would
    begin anew on each.
    """
    browser, menu = Zone.of_browser(st.context.timezone), st.sidebar.empty()
    with st.sidebar:
        # The address holds what is shown: words without the zone, which differs by viewer.
        choice = st.segmented_control(
            "Times in",
            ["utc", "local"],
            default="utc",
            key="tz",
            bind="query-params",
            required=True,
            help=f"local: {browser.name}",
        )
    actor = actors.actor(st.context.headers.get_all)
    if actor:
        st.sidebar.text(f"May act as {actor}")
    local = choice == "local"
    return Viewer(
        menu=menu,
        zone=browser if local else Zone(),
        kept={"tz": choice} if local else {},
        actor=actor,
    )


def draw(page: Page, reader: Reader, by: Viewer, pages: Sequence[Page] = ()) -> None:
    """Draw one page; whatever goes wrong in it is said on it, with what to do."""
    _install_router()
    by.menu.html(menu_html(pages, page.path, by.kept))
    view = View(reader, by.zone, utc_now(), by.kept, actor=by.actor)
    st.html(f"<style>{_source('page.css')}</style>")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        st.title(page.title, anchor=False, width="content")
        st.caption(page.question, width="stretch")
        note = st.empty()
    with errors_said():
        page.draw(view)
    _age(note, view)


@contextmanager
def section(title: str, help_text: str | None = None) -> Iterator[None]:
    """Draw a part of a page that can fail alone: the others are drawn all the same."""
    st.subheader(title, anchor=False, help=help_text)
    with errors_said():
        yield


@contextmanager
def errors_said() -> Iterator[None]:
    """Say on the page what went wrong inside, with what to do; the rest is drawn all the same."""
    try:
        yield
    except GauntletError as error:
        hint = f"\n\n{plain(error.hint)}" if error.hint else ""
        st.error(f"{plain(error.message)}{hint}", icon=":material/error:")


def _age(note: DeltaGenerator, view: View) -> None:
    if view.oldest is None:
        return
    read = f"read {view.ago(view.oldest)}, times in {view.zone.name}"
    with note.container(horizontal=True, vertical_alignment="center", width="content"):
        if view.reader.away:
            st.caption(f":orange-badge[:material/schedule: {read}: the warehouse is away]")
        else:
            st.caption(read, width="content")
        st.button(
            "Read again",
            on_click=view.reader.forget,
            icon=":material/refresh:",
            type="tertiary",
        )


def newest_note(what: str, at: datetime | None, view: View, *, late_s: float) -> None:
    """Say how old the newest record of a source is, loudly where it is late."""
    if at is None or pd.isna(at):
        return
    text = f"Newest {what}: {view.ago(at)} ({view.zone.text(at)} {view.zone.name})."
    if (view.now - at).total_seconds() > late_s:
        st.warning(f"{text} It may be out of date.", icon=":material/history:")
    else:
        st.caption(text)


@cache
def _source(name: str) -> str:
    return files("gauntlet.hud.shell").joinpath(name).read_text("utf-8")


def _install_router() -> None:
    script = f"<script>{_source('router.js')}</script>"
    st.html(script, unsafe_allow_javascript=True)
