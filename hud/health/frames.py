"""Shapes what Gauntlet knows about itself into what is drawn."""

from collections import Counter
from dataclasses import replace

import pandas as pd

from gauntlet.analyzer.reverts.record import precision as revert_precision
from gauntlet.hud import palette
from gauntlet.hud.shell.times import duration

RHYTHM = {
    "late": replace(palette.JOB_STATES["failed"], sign="▲"),
    "in time": palette.JOB_STATES["passed"],
    "no rhythm": replace(palette.JOB_STATES["not run"], sign="?"),
}
ALERTS_SHOWN = 50


def sources(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of ``source_rhythm`` with their state and their intervals in words."""
    return rows.assign(
        state=[_rhythm(late) for late in rows["late"]],
        age=[duration(age) for age in rows["age_s"]],
        usual=[duration(gap) for gap in rows["usual_gap_s"]],
        longest=[duration(gap) for gap in rows["longest_gap_s"]],
    )


def _rhythm(late: object) -> str:
    if late is None or pd.isna(late):  # type: ignore[call-overload]
        return "no rhythm"
    return "late" if late else "in time"


def asked(counts: Counter[str]) -> pd.DataFrame:
    """How often this process asked the warehouse each question, most often first."""
    return pd.DataFrame(counts.most_common(), columns=["name", "times"])


def precision(record: pd.DataFrame) -> str:
    """The bot's record in one sentence: how often its accusations were right."""
    counted = zip(record["outcome"], record["reverts"], strict=True)
    told = revert_precision(outcome for outcome, reverts in counted for _ in range(reverts))
    if told.share is None:
        return "No revert of the bot was merged or closed yet, so nothing says how good it is."
    return (
        f"Of the reverts that people decided upon: {told}. A repair of the culprit counts as right."
    )


def newest_alerts(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of ``alerts``, newest first, as many as a person reads."""
    return rows.iloc[::-1].head(ALERTS_SHOWN)
