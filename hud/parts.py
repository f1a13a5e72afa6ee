"""Small things that several pages are put together from."""

from collections.abc import Mapping, Sequence
from html import escape

import pandas as pd
import streamlit as st
from streamlit.elements.lib.column_types import ColumnConfig

from gauntlet.hud import palette
from gauntlet.hud.palette import Look

_ROW_PX = 35


def choose(label: str, options: Sequence[str], *, key: str, default: str) -> str:
    """Let the viewer choose one of a few words, bound to the address by ``key``.

    Says so where the address names a word that is not among them, and goes on with the default.
    """
    warn_unless_known(key, options, f"showing {default}")
    chosen = st.segmented_control(
        label, options, default=default, key=key, bind="query-params", required=True
    )
    return str(chosen or default)


def warn_unless_known(key: str, options: Sequence[str], instead: str) -> None:
    """Say that the address names something that is not there, and what is shown instead."""
    wanted = st.query_params.get(key)
    if wanted and wanted not in options:
        # Monospaced and without backticks of its own: the address is anybody's text.
        shown = wanted[:80].replace("`", "'")
        st.warning(f"No {key} `{shown}`; {instead}.", icon=":material/warning:")


def links(items: Sequence[tuple[str, str]], *, name: str) -> None:
    """Draw a row of links inside the pages: address and text of each; ``name`` says what of."""
    anchors = " &nbsp; ".join(
        f'<a href="{escape(address)}">{escape(text)}</a>' for address, text in items
    )
    st.html(f'<nav aria-label="{escape(name)}">{escape(name)}: {anchors}</nav>')


def number(heading: str, form: str = "localized", help_text: str | None = None) -> ColumnConfig:
    """A column of numbers; ``form`` is "localized" or how C's printf would show them."""
    return st.column_config.NumberColumn(heading, format=form, help=help_text)


def state_table(
    frame: pd.DataFrame,
    columns: Mapping[str, str | ColumnConfig],
    looks: Mapping[str, dict[str, Look]],
    *,
    name: str,
    rows_shown: int = 12,
) -> None:
    """Draw a table of which some columns hold states; ``looks`` says by column how states look."""
    shown = frame[list(columns)].copy()
    for column, known in looks.items():
        shown[column] = [palette.signed(known, str(value)) for value in shown[column]]
    styled = shown.style
    for column, known in looks.items():
        styled = styled.map(
            lambda value, known=known: palette.cell_style(known, str(value)), subset=[column]
        )
    st.dataframe(
        styled,
        column_config=dict(columns),
        hide_index=True,
        width="stretch",
        height=_ROW_PX * (min(len(shown), rows_shown) + 1) + 3,
        alt=name,
    )
