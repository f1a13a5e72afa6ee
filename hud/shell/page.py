"""The frame around every page: menu, title, age of what is shown, errors."""

from collections.abc import Callable, Iterator, Sequence
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
from gauntlet.hud.shell.links import KEPT
from gauntlet.hud.shell.menu import menu_html
from gauntlet.hud.shell.times import Zone
from gauntlet.hud.shell.view import View
from gauntlet.hud.shell.words import plain

_STALE_S = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page: its path in the address, its title, and the question that it answers."""

    path: str
    title: str
    icon: str
    question: str
    section: str
    draw: Callable[[View], None]


def draw(
    page: Page, reader: Reader, actors: Actors = READ_ONLY, pages: Sequence[Page] = ()
) -> None:
    """Draw one page; whatever goes wrong in it is said on it, with what to do."""
    _install_router()
    menu = st.sidebar.empty()
    zone = _zone()
    kept = {name: str(st.query_params[name]) for name in KEPT if name in st.query_params}
    menu.html(menu_html(pages, page.path, kept))
    actor = actors.actor(st.context.headers.get_all)
    view = View(reader, zone, utc_now(), kept, actor=actor)
    if actor:
        st.sidebar.text(f"May act as {actor}")
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


def _zone() -> Zone:
    browser = Zone.of_browser(st.context.timezone)
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
    return browser if choice == "local" else Zone()


def _age(note: DeltaGenerator, view: View) -> None:
    if view.oldest is None:
        return
    stale = (utc_now() - view.oldest).total_seconds() > _STALE_S
    read = f"read {view.ago(view.oldest)}, times in {view.zone.name}"
    with note.container(horizontal=True, vertical_alignment="center", width="content"):
        if stale:
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
    st.components.v2.component("gauntlet_router", html="<span></span>", js=_source("router.js"))(
        key="router", height=1
    )
