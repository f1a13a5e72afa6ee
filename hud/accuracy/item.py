"""Draws one question with the answers of both sides. Texts are of models: never markup."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from gauntlet.hud import shell
from gauntlet.hud.accuracy.answers import CUT, finish_text


def draw_item(rows: Sequence[Mapping[str, Any]], item: str, links: Mapping[str, str]) -> None:
    """Draw the rows of ``eval_item``, one for each side that was asked."""
    shell.links(links)
    if not rows:
        st.warning("Neither side was asked this question.", icon=":material/warning:")
        st.text(item)
        return
    shell.facts({"question": item})
    either = rows[0]
    if either["question"]:
        st.code(either["question"], language=None, wrap_lines=True)
    else:
        st.caption("The text of the question is not on record.")
    shell.facts({"expected": either["expected"] or "not on record"})
    by_side = {str(row["which"]): row for row in rows}
    for column, which in zip(st.columns(2), ("before", "after"), strict=True):
        with column:
            _side(which, by_side.get(which))


def _side(which: str, row: Mapping[str, Any] | None) -> None:
    if row is None:
        st.text(f"{which}: was not asked.")
        return
    cut = row["finish_reason"] == CUT
    shell.facts(
        {
            which: _score_text(row),
            "extracted": row["answer"] or "nothing",
            "ended": finish_text(row["finish_reason"]),
            "tokens": "not known" if row["output_tokens"] is None else row["output_tokens"],
        }
    )
    if cut:
        st.caption("Cut at the token limit: the answer may lack its end.")
    if row["error"]:
        st.code(row["error"], language=None, wrap_lines=True)
    if row["response"]:
        st.code(row["response"], language=None, wrap_lines=True)
    else:
        st.caption("The raw answer is not on record.")


def _score_text(row: Mapping[str, Any]) -> str:
    if row["score"] is None:
        return f"not scored ({row['status']})"
    words = {1.0: "✓ right", 0.0: "✕ wrong"}
    return words.get(row["score"], f"score {row['score']:g}")
