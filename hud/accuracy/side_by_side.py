"""Draws two evals of one series side by side: the verdict, then the answers that differ."""

from collections.abc import Mapping, Sequence
from functools import partial
from html import escape
from typing import Any, Protocol

import streamlit as st

from gauntlet.analyzer.accuracy.outcome import AccuracyVerdict
from gauntlet.core.errors import UsageError
from gauntlet.hud import palette, shell
from gauntlet.hud.accuracy.answers import CHANGES, neighbours, pairs_frame, remarks, table_frame
from gauntlet.hud.accuracy.data import judged
from gauntlet.hud.accuracy.frames import build_of, percent
from gauntlet.hud.accuracy.item import draw_item
from gauntlet.hud.shell.view import View
from gauntlet.hud.strips import prose_html

Rows = Sequence[Mapping[str, Any]]


class Address(Protocol):
    """Address of this comparison with a question, or none, and a part of the list."""

    def __call__(self, item: str | None, number: int = ...) -> str:
        """Make it."""
        ...


_OFFERED = 40
_AT_ONCE = 200
_SHOWS = ("discordant", "wrong", "all")
_KEPT_S = 3600


def side_by_side(rows: Rows, here: Mapping[str, object], view: View) -> None:
    """Draw the two evals of the address, or the two newest; ``rows`` are those of one score."""
    kept = [row for row in rows if row["samples"]]
    if len(kept) < 2:
        shell.nothing(
            "Two evals with their answers are needed, and there are not two.",
            "`gauntlet bench run` keeps answers, and so do ingested lm-eval samples."
            if not kept
            else "One eval has its answers; the next one can be compared with it.",
        )
        return
    by_id = {str(row["repetition_id"]): row for row in rows}
    sides = _pickers(kept, by_id)
    before, after = (by_id[each] for each in sides)
    if sides[0] == sides[1]:
        shell.nothing("Both sides are the same eval.", "Choose another one on either side.")
        return
    if not _both_kept(before, after, kept, view):
        return
    _compare(before, after, {**here, "before": sides[0], "after": sides[1]}, view)


def _pickers(kept: Rows, by_id: Mapping[str, Mapping[str, Any]]) -> tuple[str, str]:
    offered = [str(row["repetition_id"]) for row in kept[:_OFFERED]]
    chosen = []
    columns = st.columns(2)
    for column, key, place in zip(columns, ("before", "after"), (1, 0), strict=True):
        wanted = str(st.query_params.get(key, ""))
        known = wanted in by_id
        if wanted and not known:
            column.warning("This series has no such eval; showing another.")
            column.text(wanted)
        options = offered if not known or wanted in offered else [*offered, wanted]
        picked = column.selectbox(
            key.capitalize(), options, index=place, key=key, bind="query-params"
        )
        chosen.append(str(picked) if picked in by_id else options[place])
    return chosen[0], chosen[1]


def _both_kept(before: Mapping[str, Any], after: Mapping[str, Any], kept: Rows, view: View) -> bool:
    lacking = [name for name, row in (("before", before), ("after", after)) if not row["samples"]]
    if not lacking:
        return True
    oldest = view.zone.text(min(row["started_at"] for row in kept))
    shell.nothing(
        f"No answers are kept of the eval {' and of the one '.join(lacking)}.",
        f"Of this series they are kept since {oldest} {view.zone.name}: choose later evals.",
    )
    return False


def _compare(
    before: Mapping[str, Any], after: Mapping[str, Any], here: Mapping[str, object], view: View
) -> None:
    asked: dict[str, Any] = {
        "task": before["task"],
        "before": str(before["repetition_id"]),
        "after": str(after["repetition_id"]),
    }
    for name, row in (("before", before), ("after", after)):
        shell.facts(
            {
                name: f"{view.zone.text(row['started_at'])} {view.zone.name}",
                "build": build_of(row) or "not known",
                "score": "none" if row["value"] is None else percent(row["value"]),
                "n": row["n"],
                "answers": row["samples"],
                "configuration": row["config_fp"],
            }
        )
    _verdict(asked, str(before["filter"]), view)
    counts = view.rows("eval_pair_counts", **asked, filter=before["filter"])[0]
    columns: shell.Columns = {"": "questions", "right": "after right", "wrong": "after wrong"}
    with st.container(width=420):
        shell.table(table_frame(counts), columns, name="questions by right and wrong of both sides")
    for said in remarks(counts):
        st.caption(said)
    _answers(asked, str(before["filter"]), here, view)


def _verdict(asked: Mapping[str, Any], answer_filter: str, view: View) -> None:
    key = (asked["task"], answer_filter, asked["before"], asked["after"])
    try:
        found = view.value(
            "accuracy_verdict",
            partial(judged, answer_filter=answer_filter, **asked),
            *key,
            ttl_s=_KEPT_S,
        )
    except UsageError as error:
        # Which answers differ can still be read below.
        st.warning("The analyzer does not compare these two.", icon=":material/warning:")
        st.text(f"{error.message}\n{error.hint or ''}".strip())
        return
    shell.badge(palette.VERDICTS, found.verdict.outcome, before=found.verdict.subject)
    st.text(found.verdict.reason)
    _figures(found)


def _figures(found: AccuracyVerdict) -> None:
    verdict, drop = found.verdict, found.details.drop
    if drop is None or verdict.effect is None:
        return
    seen = "none" if verdict.detectable is None else f"{verdict.detectable:.1f} points"
    level = 1 - 2 * found.details.alpha
    shell.tiles(
        [
            ("Change, points", f"{verdict.effect:+.2f}", "after against before; higher is better"),
            ("At worst", f"{verdict.lower:+.2f}", f"{level:.0%} interval: {verdict.method}"),
            ("At best", f"{verdict.upper:+.2f}", f"{level:.0%} interval: {verdict.method}"),
            ("p of a drop", f"{drop.p_drop:.3g}", "one-sided: chance of such a drop without one"),
            ("Could have seen", seen, "the drop that would be called worse in 9 of 10 cases"),
            ("Lost, gained", f"{drop.losses}, {drop.gains}", f"of {verdict.n} answers"),
        ]
    )
    for note in found.details.notes:
        st.text(f"note: {note}")


def _answers(
    asked: Mapping[str, Any], answer_filter: str, here: Mapping[str, object], view: View
) -> None:
    detail = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        show = _show()
        find = st.text_input(
            "Questions and answers that have", key="find", bind="query-params", width=280
        )
    part = _part_number()
    rows = view.rows(
        "eval_pairs",
        **asked,
        filter=answer_filter,
        show=show,
        find=find,
        limit=_AT_ONCE,
        skip=_AT_ONCE * (part - 1),
    )
    listed = {
        **here,
        "show": None if show == _SHOWS[0] else show,
        "find": find,
    }

    def address(item: str | None, number: int = part) -> str:
        later = None if number == 1 else number
        return view.link("accuracy", **listed, part=later, item=item)

    items = [str(row["item_id"]) for row in rows]
    item = str(st.query_params.get("item", ""))
    if item:
        ways = dict(zip(("previous", "next"), neighbours(items, item), strict=True))
        links = {words: address(to) for words, to in ways.items() if to is not None}
        with detail.container(border=True):
            draw_item(
                view.rows("eval_item", **asked, filter=answer_filter, item=item),
                item,
                {**links, "close": address(None)},
            )
    if not rows:
        shell.nothing(
            "No question is left." if find or part > 1 else "No question of that kind.",
            "Show all of them, or empty the filter.",
        )
        return
    _list(rows, part, address)


def _list(rows: Rows, part: int, address: Address) -> None:
    columns: shell.Columns = {
        "item": shell.link_column("question", r"item=([^&]+)"),
        "question": "its text",
        "expected": "expected",
        "change": "change",
        "answer_before": "answer before",
        "answer_after": "answer after",
        "finish_before": "ended before",
        "finish_after": "ended after",
        "tokens_before": "tokens before",
        "tokens_after": "tokens after",
    }
    shell.table(
        pairs_frame(rows, address),
        columns,
        name="questions with the answers of both sides",
        looks={"change": CHANGES},
    )
    matching, first = rows[0]["matching"], _AT_ONCE * (part - 1)
    words = [f"Questions {first + 1} to {first + len(rows)} of {matching}."]
    if part > 1:
        words.append(f'<a href="{escape(address(None, part - 1))}">earlier ones</a>')
    if first + len(rows) < matching:
        words.append(f'<a href="{escape(address(None, part + 1))}">further ones</a>')
    st.html(prose_html(" · ".join(words)))


def _show() -> str:
    means = "discordant: right on one side alone; wrong: wrong on a side, or not answered by both"
    return shell.choose("Questions", _SHOWS, key="show", default=_SHOWS[0], help_text=means)


def _part_number() -> int:
    wanted = str(st.query_params.get("part", "1"))
    if wanted.isascii() and wanted.isdigit() and 1 <= int(wanted) <= 10_000:
        return int(wanted)
    st.warning("No such part of the list; showing the first.", icon=":material/warning:")
    return 1
