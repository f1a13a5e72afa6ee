"""The detail of one cell of the grid: its attempts, and the lines that decided them (pure)."""

from collections.abc import Callable

import pandas as pd

from gauntlet.hud import palette
from gauntlet.hud.outcomes import BAD, BLOCKED, WORST_FIRST, attempt_state
from gauntlet.hud.shell.links import web_address


def attempts_frame(attempts: pd.DataFrame, job_address: Callable[[str], str]) -> pd.DataFrame:
    """Attempts as a table: signed state, names, minutes, and addresses of job and log."""
    states = [
        attempt_state(state, soft_failed=soft, failure_class=_text(kind))
        for state, soft, kind in zip(
            attempts["state"], attempts["soft_failed"], attempts["failure_class"], strict=True
        )
    ]
    shown = attempts.assign(
        shown=[palette.signed(palette.JOB_STATES, state) for state in states],
        said=[
            f"{state} (soft)" if soft else state
            for state, soft in zip(attempts["state"], attempts["soft_failed"], strict=True)
        ],
        job=[job_address(key) for key in attempts["job_key"]],
        log=attempts["url"].map(web_address),
        failure_class=attempts["failure_class"].fillna(""),
        line=attempts["line"].fillna(""),
    )
    rank = [WORST_FIRST.index(state) for state in states]
    order = ["rank", "job_key", "shard", "attempt"]
    return shown.assign(rank=rank).sort_values(order, kind="stable").drop(columns="rank")


def decisive_lines(attempts: pd.DataFrame, most: int) -> list[tuple[str, str]]:
    """The first ``most`` distinct decisive lines of attempts that failed, each with its job."""
    lines: dict[tuple[str, str], None] = {}
    for row in attempts.itertuples(index=False):
        line = _text(row.line)
        if line and row.state in BAD and not row.soft_failed:
            lines.setdefault((str(row.job_key), line))
    return list(lines)[:most]


def jobs_to_show(attempts: pd.DataFrame, most: int) -> list[str]:
    """Keys of jobs with an attempt that failed hard or was blocked, else of all; few."""
    bad = attempts["state"].isin([*BAD, *BLOCKED]) & ~attempts["soft_failed"]
    chosen = attempts[bad] if bad.any() else attempts
    return [str(key) for key in chosen["job_key"].unique()[:most]]


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
