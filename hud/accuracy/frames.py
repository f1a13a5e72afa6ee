"""Scores and answers as the page Accuracy shows them. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import pandas as pd

from gauntlet.analyzer.history.finding import Finding
from gauntlet.analyzer.history.scores import Score, interval, judge_scores, score_of
from gauntlet.analyzer.measured import Statistic
from gauntlet.hud import palette
from gauntlet.hud.outcomes import SHORT_SHA
from gauntlet.hud.shell.times import NONE
from gauntlet.hud.shell.view import View

Rows = Sequence[Mapping[str, Any]]

# Outcomes of the analyzer's judgement of a night's score, as verdicts.
_VERDICTS = {
    "regression": "worse",
    "provisional": "inconclusive",
    "config-changed": "config-changed",
}
_GRAVEST_FIRST = ("worse", "inconclusive", "missing", "config-changed")
_MARGIN_POINTS = 2.0

FIRST, SAME, REFUSED = "first of another configuration", "configuration as before", "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The newest score of a series on a task, the comparable one before it, and what is said.

    ``verdict`` is empty where nothing speaks against the score, which does not prove it the same.
    """

    row: Mapping[str, Any]
    score: Score
    before: Score | None
    verdict: str
    reason: str
    count: int


def label_of(row: Mapping[str, Any]) -> str:
    """A score's name: its metric, and the answer extraction where there are several."""
    return f"{row['metric']} {row['filter']}".strip()


def build_of(row: Mapping[str, Any]) -> str:
    """The short name of the build that answered."""
    return str(row["engine_commit"] or row["image_digest"].removeprefix("sha256:"))[:SHORT_SHA]


def percent(value: float, unit_share: bool = True) -> str:
    """A score as people read it; what is no share of 1 is left as it is."""
    return f"{100 * value:.2f} %" if unit_share and 0 <= value <= 1 else f"{value:.4g}"


def interval_text(score: Score) -> str:
    """The score's 95 % interval; a dash where no standard error is known."""
    found = interval(score)
    return NONE if found is None else f"{percent(found[0])} to {percent(found[1])}"


def standings(rows: Rows) -> list[Standing]:
    """Where each series stands on each task, from rows of ``score_history``; the gravest first."""
    scores = [score_of(row) for row in rows]
    whole = [score for score, row in zip(scores, rows, strict=True) if not row["partial"]]
    newest = max((score.night for score in scores), default=date.min)
    found = judge_scores(whole, newest, margin_points=_MARGIN_POINTS) if whole else []
    said = {(each.series_id, each.statistic): each for each in found}
    groups: dict[object, list[tuple[Score, Mapping[str, Any]]]] = {}
    for score, row in zip(scores, rows, strict=True):
        groups.setdefault((score.series_id, score.statistic), []).append((score, row))
    standing = [_standing(some, said, newest) for some in groups.values()]
    return sorted(standing, key=_grave)


def _grave(each: Standing) -> tuple[int, str, str]:
    known = each.verdict in _GRAVEST_FIRST
    rank = _GRAVEST_FIRST.index(each.verdict) if known else len(_GRAVEST_FIRST)
    return rank, str(each.row["recipe"]), str(each.row["task"])


def _standing(
    group: Sequence[tuple[Score, Mapping[str, Any]]],
    said: Mapping[tuple[str, Statistic], Finding],
    newest: date,
) -> Standing:
    ordered = sorted(group, key=lambda each: each[1]["started_at"])
    score, row = ordered[-1]
    comparable = [
        other
        for other, its_row in ordered[:-1]
        if other.identity == score.identity and not its_row["partial"]
    ]
    finding = said.get((score.series_id, score.statistic))
    verdict, reason = "", ""
    if score.night < newest:
        verdict, reason = "missing", f"not measured on the newest night, {newest}"
    elif finding is not None:
        verdict, reason = _VERDICTS.get(finding.kind, ""), finding.reason
    return Standing(
        row=row,
        score=score,
        before=comparable[-1] if comparable and not row["partial"] else None,
        verdict=verdict,
        reason=reason,
        count=len(ordered),
    )


def overview_frame(standing: Sequence[Standing], view: View) -> pd.DataFrame:
    """One line for each series, task and score."""
    return pd.DataFrame([_line(each, view) for each in standing])


def _line(each: Standing, view: View) -> dict[str, object]:
    row, score, before = each.row, each.score, each.before
    share = 0 <= score.value <= 1
    unit = "points" if share else ""
    change = None if before is None else (100 if share else 1) * (score.value - before.value)
    return {
        "series": view.link(
            "accuracy", task=row["task"], score=label_of(row), series=row["series_id"]
        ),
        "recipe": row["recipe"],
        "task": row["task"],
        "score": label_of(row),
        "verdict": palette.signed(palette.VERDICTS, each.verdict)
        if each.verdict
        else "no drop seen",
        "value": percent(score.value),
        "interval": interval_text(score),
        "change": NONE if change is None else f"{change:+.2f} {unit}".strip(),
        "n": score.n,
        "whole": "partial" if row["partial"] else "whole",
        "better": row["direction"],
        "measured": row["started_at"],
        "build": build_of(row),
        "scores": each.count,
        "why": each.reason,
    }


def evals_frame(rows: Rows, view: View, here: Mapping[str, object]) -> pd.DataFrame:
    """Every eval of one series and score, newest first, with a link to compare it.

    ``here`` is the address's own part of that link.
    """
    kept = [row for row in rows if row["samples"]]
    lines = []
    for row in rows:
        earlier = [other for other in kept if other["started_at"] < row["started_at"]]
        link = None
        if row["samples"] and earlier:
            link = view.link(
                "accuracy",
                **here,
                before=earlier[0]["repetition_id"],
                after=row["repetition_id"],
            )
        score = None if row["value"] is None else score_of(row)
        lines.append(
            {
                "measured": row["started_at"],
                "build": build_of(row),
                "value": NONE if score is None else percent(score.value),
                "interval": NONE if score is None else interval_text(score),
                "n": row["n"],
                "whole": "partial" if row["partial"] else "whole",
                "status": row["status"],
                "why": "; ".join(row["reasons"]),
                "harness": f"{row['harness']} {row['harness_version']}".strip(),
                "config": row["config_fp"],
                "answers": row["samples"],
                "compare": link,
                "repetition": row["repetition_id"],
            }
        )
    return pd.DataFrame(lines)


def score_points(rows: Rows, view: View) -> pd.DataFrame:
    """What the chart of one score draws, oldest first; evals without a value are left out."""
    points = []
    before: Score | None = None
    for row in sorted(rows, key=lambda each: each["started_at"]):
        if row["value"] is None:
            continue
        score = score_of(row)
        refused = row["status"] != "valid"
        changed = before is not None and before.identity != score.identity
        points.append(_point(row, score, REFUSED if refused else FIRST if changed else SAME, view))
        if not refused:
            before = score
    frame = pd.DataFrame(points)
    return frame if frame.empty else frame.assign(at=view.zone.wall(frame["at"]))


def _point(row: Mapping[str, Any], score: Score, kind: str, view: View) -> dict[str, object]:
    scale = 100 if 0 <= score.value <= 1 else 1
    low, high = interval(score) or (None, None)
    at: datetime = row["started_at"]
    return {
        "at": at,
        "value": scale * score.value,
        "low": None if low is None else scale * low,
        "high": None if high is None else scale * high,
        "kind": kind,
        "partial": bool(row["partial"]),
        "measured": f"{view.zone.text(at)} {view.zone.name}",
        "score": percent(score.value),
        "interval": interval_text(score),
        "n": score.n,
        "build": build_of(row),
        "harness": f"{row['harness']} {row['harness_version']}".strip(),
        "configuration": row["config_fp"],
        "whole": "partial" if row["partial"] else "whole",
    }
