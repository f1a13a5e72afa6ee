"""The frame around every page: title, age of what is shown, errors, empty states, tables."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from html import escape
from importlib.resources import files
from typing import TypeAlias

import altair as alt
import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler
from streamlit.delta_generator import DeltaGenerator
from streamlit.elements.lib.column_types import ColumnConfig

from gauntlet.core.clock import utc_now
from gauntlet.core.errors import GauntletError
from gauntlet.hud import palette
from gauntlet.hud.acting.actors import READ_ONLY, Actors
from gauntlet.hud.palette import Look
from gauntlet.hud.reading import Reader
from gauntlet.hud.shell.links import KEPT
from gauntlet.hud.shell.menu import menu_html
from gauntlet.hud.shell.times import Zone
from gauntlet.hud.shell.view import View

AltairChart: TypeAlias = (
    alt.Chart | alt.LayerChart | alt.HConcatChart | alt.VConcatChart | alt.FacetChart
)
# Headings, or Streamlit's settings of columns, by column, in their order.
Columns: TypeAlias = Mapping[str, str | ColumnConfig]

_STALE_S = 300
_ROW_PX = 35


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
    with _errors():
        page.draw(view)
    _age(note, view)


@contextmanager
def section(title: str, help_text: str | None = None) -> Iterator[None]:
    """Draw a part of a page that can fail alone: the others are drawn all the same."""
    st.subheader(title, anchor=False, help=help_text)
    with _errors():
        yield


def nothing(text: str, remedy: str) -> None:
    """Say that there is nothing to show, and what would change that (both Markdown)."""
    st.info(f"{text} {remedy}", icon=":material/info:")


def table(
    frame: pd.DataFrame,
    columns: Columns,
    *,
    name: str,
    rows_shown: int = 12,
    looks: Mapping[str, Mapping[str, Look]] | None = None,
) -> None:
    """Draw a table that can be sorted, searched and downloaded; ``columns`` in their order.

    ``columns`` maps a column's name to its heading or to a ``st.column_config``; aware times must
    be given as ``time_column``. ``name`` says what the table is, to a screen reader too.
    ``looks`` gives the colours of columns that hold what :func:`palette.signed` makes.
    """
    shown: pd.DataFrame | Styler = frame[list(columns)]
    for column, of in (looks or {}).items():
        style = shown.style if isinstance(shown, pd.DataFrame) else shown
        shown = style.map(partial(_cell_style, of), subset=[column])
    height = _ROW_PX * (min(len(frame), rows_shown) + 1) + 3
    st.dataframe(
        shown,
        column_config=dict(columns),
        hide_index=True,
        width="stretch",
        height=height,
        alt=name,
    )


def _cell_style(of: Mapping[str, Look], text: object) -> str:
    return palette.cell_style(of, str(text))


def badge(of: Mapping[str, Look], state: str, before: str = "") -> None:
    """Draw a state in its colour with its sign, behind a name in bold."""
    look = of.get(state)
    colours = f"background:{look.colour};color:{look.ink}" if look else ""
    name = f"<b>{escape(before)}</b> " if before else ""
    text = escape(palette.signed(of, state))
    st.html(f'{name}<span style="{colours};border-radius:4px;padding:1px 8px">{text}</span>')


def links(to: Mapping[str, str]) -> None:
    """Draw links to pages, by the words that are shown for them."""
    anchors = (f'<a href="{escape(url)}">{escape(words)}</a>' for words, url in to.items())
    st.html(" · ".join(anchors))


def facts(values: Mapping[str, object]) -> None:
    """Draw names and values in a line, to be read and copied."""
    shown = (
        f"<span style='opacity:.75'>{escape(name)}</span> <code>{escape(str(value))}</code>"
        for name, value in values.items()
    )
    st.html(" &nbsp; ".join(shown))


def time_column(heading: str, zone: Zone) -> ColumnConfig:
    """A column of instants in the viewer's zone."""
    return st.column_config.DatetimeColumn(
        heading, timezone=zone.name, format="YYYY-MM-DD HH:mm", help=f"time zone: {zone.name}"
    )


def link_column(heading: str, display: str = "open") -> ColumnConfig:
    """A column of addresses, shown as ``display``: words, or a regular expression's group."""
    return st.column_config.LinkColumn(heading, display_text=display)


def chart(drawn: AltairChart, *, name: str) -> None:
    """Draw a chart over the whole width; ``name`` says in words what it shows."""
    st.altair_chart(drawn, width="stretch", alt=name)


def download(label: str, data: str, *, file_name: str, mime: str = "text/csv") -> None:
    """Offer text as a file; pressing it does not draw the page anew."""
    st.download_button(
        label, data, file_name=file_name, mime=mime, icon=":material/download:", on_click="ignore"
    )


def tiles(values: Sequence[tuple[str, str, str | None]]) -> None:
    """Draw a row of figures: label, value, and what it means in words (or None)."""
    for column, (label, value, meaning) in zip(st.columns(len(values)), values, strict=True):
        column.metric(label, value, help=meaning)


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except GauntletError as error:
        st.error(f"{error.message}\n\n{error.hint or ''}", icon=":material/error:")


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
