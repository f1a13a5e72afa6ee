"""What a viewer chooses from: kept in the address, and checked against what there is."""

from collections.abc import Sequence

import streamlit as st

from gauntlet.hud.shell.words import plain


def choose(
    label: str, options: Sequence[str], *, key: str, default: str, help_text: str | None = None
) -> str:
    """Let the viewer choose one of a few words, bound to the address by ``key``.

    Says so where the address names a word that is not among them, and goes on with the default.
    """
    warn_unless_known(key, options, f"showing {default}")
    chosen = st.segmented_control(
        label,
        options,
        default=default,
        key=key,
        bind="query-params",
        required=True,
        help=help_text,
    )
    return str(chosen or default)


def choose_of_many(label: str, options: Sequence[str], *, key: str, default: str) -> str:
    """Let the viewer choose one of many words; as :func:`choose`, with a list that can be searched.

    Where ``default`` is no option, the first is.
    """
    index = list(options).index(default) if default in options else 0
    warn_unless_known(key, options, f"showing {options[index]}")
    return st.selectbox(label, options, index=index, key=key, bind="query-params", width=220)


def warn_unless_known(key: str, options: Sequence[str], instead: str) -> None:
    """Say that the address names something that is not there, and what is done instead."""
    wanted = st.query_params.get(key)
    if wanted and wanted not in options:
        unknown(key, wanted, instead)


def unknown(what: str, wanted: str, instead: str) -> None:
    """Say that the address asks for something that is not there."""
    st.warning(f"No {what} {plain(wanted)}; {plain(instead)}.", icon=":material/warning:")
