"""What pages are put together from: tables, charts, links, figures, states."""

import time
from collections.abc import Mapping, Sequence
from functools import partial
from html import escape
from typing import TypeAlias

import altair as alt
import pandas as pd
import streamlit as st
from streamlit.elements.lib.column_types import ColumnConfig

from gauntlet.hud import palette
from gauntlet.hud.palette import Look
from gauntlet.hud.shell.times import Zone

AltairChart: TypeAlias = (
    alt.Chart | alt.LayerChart | alt.HConcatChart | alt.VConcatChart | alt.FacetChart
)
# Headings, or Streamlit's settings of columns, by column, in their order.
Columns: TypeAlias = Mapping[str, str | ColumnConfig]

PAUSE_S = 0.35
_SEEN = "has seen an answer"
_ROW_PX = 35
_OWN_HTML = """
export default function ({ data, parentElement }) {
  const place = parentElement.querySelector("div");
  if (place.shown !== data) { place.innerHTML = data; place.shown = data; }
}
"""


def nothing(text: str, remedy: str) -> None:
    """Say that there is nothing to show, and what would change that (Markdown: no names in it)."""
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
    be given as :func:`time_column`. ``name`` says what the table is, to a screen reader too.
    ``looks`` says by column how the states in it look; they may stand behind their signs already.
    """
    shown = frame[list(columns)].copy()
    for column, of in (looks or {}).items():
        shown[column] = [palette.signed(of, str(value)) for value in shown[column]]
    styled = shown.style
    for column, of in (looks or {}).items():
        styled = styled.map(partial(_cell_style, of), subset=[column])
    st.dataframe(
        styled if looks else shown,
        column_config=dict(columns),
        hide_index=True,
        width="stretch",
        height=_ROW_PX * (min(len(frame), rows_shown) + 1) + 3,
        alt=name,
    )


def _cell_style(of: Mapping[str, Look], text: object) -> str:
    return palette.cell_style(of, str(text))


def time_column(heading: str, zone: Zone) -> ColumnConfig:
    """A column of instants in the viewer's zone."""
    return st.column_config.DatetimeColumn(
        heading, timezone=zone.name, format="YYYY-MM-DD HH:mm", help=f"time zone: {zone.name}"
    )


def link_column(heading: str, display: str = "open") -> ColumnConfig:
    """A column of addresses, shown as ``display``: words, or a regular expression's group."""
    return st.column_config.LinkColumn(heading, display_text=display)


def number(heading: str, form: str = "localized", help_text: str | None = None) -> ColumnConfig:
    """A column of numbers; ``form`` is "localized" or how C's printf would show them."""
    return st.column_config.NumberColumn(heading, format=form, help=help_text)


def badge(of: Mapping[str, Look], state: str, before: str = "") -> None:
    """Draw a state in its colour with its sign, behind a name in bold."""
    look = of.get(state)
    colours = f"background:{look.colour};color:{look.ink}" if look else ""
    name = f"<b>{escape(before)}</b> " if before else ""
    text = escape(palette.signed(of, state))
    look_css = f"{colours};border-radius:4px;padding:1px 8px"
    st.html(f'<span data-answer>{name}<span style="{look_css}">{text}</span></span>')


def links(to: Mapping[str, str], *, name: str = "") -> None:
    """Draw links to pages, by the words that are shown for them; ``name`` says what they are."""
    anchors = " · ".join(
        f'<a href="{escape(url)}">{escape(words)}</a>' for words, url in to.items()
    )
    label = f"{escape(name)}: " if name else ""
    st.html(f'<nav class="links" aria-label="{escape(name or "see also")}">{label}{anchors}</nav>')


def own_html(html: str, *, key: str) -> None:
    """Draw large HTML of our own, with everything in it escaped, at the speed of a browser.

    ``st.html`` goes through every node of it to clean it, which takes longer than drawing.
    """
    st.components.v2.component(
        "gauntlet_html", html="<div class='stHtml'></div>", js=_OWN_HTML, isolate_styles=False
    )(data=html, key=key)


def facts(values: Mapping[str, object]) -> None:
    """Draw names and values in a line, to be read and copied."""
    shown = (
        f"<span style='opacity:.8'>{escape(name)}</span> <code>{escape(str(value))}</code>"
        for name, value in values.items()
    )
    st.html(" &nbsp; ".join(shown))


def chart(drawn: AltairChart, *, name: str) -> None:
    """Draw a chart over the whole width; ``name`` says in words what it shows."""
    st.altair_chart(drawn, width="stretch", alt=name)


def download(label: str, data: str, *, file_name: str, mime: str = "text/csv") -> None:
    """Offer text as a file; pressing it does not draw the page anew."""
    st.download_button(
        label, data, file_name=file_name, mime=mime, icon=":material/download:", on_click="ignore"
    )


def tiles(values: Sequence[tuple[str, str, str | None]]) -> None:
    """Draw a row of figures: label, value, and what it means in words (or None).

    HTML, not ``st.metric``: it is the answer to the page's question, and is there first.
    """
    st.html(f"<dl class='tiles' data-answer>{''.join(_tile(*each) for each in values)}</dl>")
    answered()


def answered() -> None:
    """Let a new viewer's browser show what was drawn so far, before the rest keeps it busy.

    A browser that opens its first page loads and compiles what tables and charts need for a second,
    and paints nothing meanwhile. Waiting costs nothing: the browser is what everything waits for.
    """
    if not st.session_state.get(_SEEN):
        st.session_state[_SEEN] = True
        time.sleep(PAUSE_S)


def _tile(label: str, value: str, meaning: str | None) -> str:
    about = f" title='{escape(meaning)}'" if meaning else ""
    return f"<div{about}><dt>{escape(label)}</dt><dd>{escape(value)}</dd></div>"
