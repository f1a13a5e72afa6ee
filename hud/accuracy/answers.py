"""Answers of two evals to the same questions, as tables (pure)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from gauntlet.hud import palette
from gauntlet.hud.outcomes import count
from gauntlet.hud.shell.times import NONE

Rows = Sequence[Mapping[str, Any]]

CHANGES = {
    "lost": palette.VERDICTS["worse"],
    "gained": palette.VERDICTS["better"],
    "both right": palette.JOB_STATES["passed"],
    "both wrong": palette.JOB_STATES["blocked"],
    "same": palette.VERDICTS["same"],
    "not scored": palette.VERDICTS["inconclusive"],
    "only before": palette.VERDICTS["missing"],
    "only after": palette.VERDICTS["missing"],
}
CUT = "length"


def finish_text(reason: str | None) -> str:
    """Why an answer ended; one that was cut at the token limit is marked."""
    if not reason:
        return NONE
    return "✂ length" if reason == CUT else reason


def pairs_frame(rows: Rows, address: Callable[[str], str]) -> pd.DataFrame:
    """Rows of ``eval_pairs`` as a table; ``address`` leads to one question."""
    return pd.DataFrame(
        [
            {
                "item": address(row["item_id"]),
                "question": row["question"],
                "expected": row["expected"],
                "change": palette.signed(CHANGES, row["change"]),
                "answer_before": row["answer_before"],
                "answer_after": row["answer_after"],
                "finish_before": finish_text(row["finish_before"]),
                "finish_after": finish_text(row["finish_after"]),
                "tokens_before": row["tokens_before"],
                "tokens_after": row["tokens_after"],
            }
            for row in rows
        ]
    )


def table_frame(counts: Mapping[str, int]) -> pd.DataFrame:
    """The two by two table of ``eval_pair_counts``."""
    return pd.DataFrame(
        [
            {"": "before right", "right": counts["both_right"], "wrong": counts["lost"]},
            {"": "before wrong", "right": counts["gained"], "wrong": counts["both_wrong"]},
        ]
    )


def remarks(counts: Mapping[str, int]) -> list[str]:
    """Sentences on what the two by two table leaves out, and on answers that were cut."""
    said = []
    if counts["only_before"] or counts["only_after"]:
        said.append(
            f"{count(counts['only_before'], 'question')} asked only before,"
            f" {counts['only_after']} only after."
        )
    if counts["not_scored"]:
        said.append(
            f"{count(counts['not_scored'], 'question')} without a score of a side: in no pair."
        )
    if counts["both_graded_alike"]:
        said.append(
            "Scores are graded: lost and gained mean a lower and a higher grade,"
            f" and {counts['both_graded_alike']} have the same grade between right and wrong."
        )
    if counts["cut_before"] or counts["cut_after"]:
        said.append(
            f"Cut at the token limit: {counts['cut_before']} answers before,"
            f" {counts['cut_after']} after."
        )
    return said


def neighbours(items: Sequence[str], item: str) -> tuple[str | None, str | None]:
    """The items before and after one in a list; None at its ends, and where it is not in it."""
    if item not in items:
        return None, None
    place = items.index(item)
    earlier = items[place - 1] if place else None
    later = items[place + 1] if place + 1 < len(items) else None
    return earlier, later
