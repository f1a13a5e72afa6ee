"""Shapes rows about jobs and tests into tables and strips: pure functions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from typing import Any

import pandas as pd
from pydantic import BaseModel, ConfigDict, ValidationError

from gauntlet.hud import palette
from gauntlet.hud.outcomes import SHORT_SHA, attempt_state
from gauntlet.hud.shell.links import web_address

_STATES = {"broken": "failed", "failing": "failed", "flaky": "flaky"}
_OUTCOMES = {
    "passed": "passed",
    "xfailed": "passed",
    "failed": "failed",
    "error": "failed",
    "skipped": "not run",
    "xpassed": "passed",
}


class _Named(BaseModel):
    """What a quarantine's evidence may say; other keys are for other readers."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    owner: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantine:
    """A quarantine that holds now. ``owner`` is who recorded it where nobody is named."""

    owner: str
    reason: str
    expires_at: datetime | None


def quarantines_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, Quarantine]:
    """Quarantines by subject, such as ``job/kernels-1``."""
    return {
        row["subject"]: Quarantine(
            owner=_owner(row["evidence"]) or row["actor"],
            reason=row["reason"],
            expires_at=row["expires_at"],
        )
        for row in rows
    }


def _owner(evidence: str) -> str:
    try:
        return _Named.model_validate_json(evidence or "{}").owner
    except ValidationError:
        return ""  # the one who recorded it is shown instead


def troubled_jobs(
    streaks: Sequence[Mapping[str, Any]],
    quarantines: Mapping[str, Quarantine],
    address: Callable[[str], str],
    find: str = "",
) -> pd.DataFrame:
    """Jobs in trouble, one row each, with the columns that the table shows."""
    rows = [row for row in streaks if _matches(find, row["job_key"], row["group_key"])]
    return pd.DataFrame(
        [
            {
                "shown": _shown(row["state"]),
                "job_key": row["job_key"],
                "job": address(row["job_key"]),
                "group_key": row["group_key"],
                "failures_in_a_row": row["failures_in_a_row"],
                "first_bad": row["first_bad"][:SHORT_SHA],
                "last_good": row["last_good"][:SHORT_SHA],
                "unknown_between": _number(row["unknown_between"]),
                "flips": row["flips"],
                "flaky_commits": row["flaky_commits"],
                "commits": row["commits"],
                **_held(quarantines.get(f"job/{row['job_key']}")),
            }
            for row in rows
        ]
    )


def troubled_tests(
    tests: Sequence[Mapping[str, Any]],
    quarantines: Mapping[str, Quarantine],
    address: Callable[[str], str],
    find: str = "",
) -> pd.DataFrame:
    """Tests in trouble, one row each, with the columns that the table shows."""
    rows = [row for row in tests if _matches(find, row["nodeid"], *row["jobs"])]
    return pd.DataFrame(
        [
            {
                "shown": _shown(row["state"]),
                "test": address(row["nodeid"]),
                "failed": row["failed"],
                "flaky": row["flaky"],
                "runs": row["runs"],
                "failure_rate": row["failure_rate"],
                "first_failed": row["first_failed"],
                "last_failed": row["last_failed"],
                "jobs": ", ".join(row["jobs"]),
                "queues": ", ".join(row["queues"]),
                **_held(quarantines.get(f"test/{row['nodeid']}")),
            }
            for row in rows
        ]
    )


def _number(value: int | None) -> str:
    """A count as text: there is none where the question does not arise."""
    return "" if value is None else str(value)


def _shown(state: str) -> str:
    """A state of trouble behind the sign of the state of jobs that it is."""
    look = palette.JOB_STATES[_STATES.get(state, "failed")]
    return f"{look.sign} {state}"


def _held(quarantine: Quarantine | None) -> dict[str, str]:
    if quarantine is None:
        return {"quarantine": "", "owner": ""}
    return {"quarantine": quarantine.reason or "quarantined", "owner": quarantine.owner}


def _matches(find: str, *names: str) -> bool:
    wanted = find.strip().casefold()
    return any(wanted in name.casefold() for name in names)


def attempts_frame(history: pd.DataFrame, cell_address: Callable[[str], str]) -> pd.DataFrame:
    """Attempts of one job with signed states and addresses; ``cell_address`` takes a commit."""
    states = [
        attempt_state(state, soft_failed=soft, failure_class=kind if isinstance(kind, str) else "")
        for state, soft, kind in zip(
            history["state"], history["soft_failed"], history["failure_class"], strict=True
        )
    ]
    return history.assign(
        shown=[palette.signed(palette.JOB_STATES, state) for state in states],
        commit=history["sha"].map(cell_address),
        log=history["url"].map(web_address),
        failure_class=history["failure_class"].fillna(""),
        line=history["line"].fillna(""),
    )


def durations_of_job(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Run times of a job by day in minutes, one row for each day and quantile.

    A day on which nothing passed has no quantiles and gives no row.
    """
    found = [
        {
            "day": row["day"],
            "quantile": name,
            "value": seconds / 60,
            "attempts": row["attempts"],
            "failed": row["failed"],
        }
        for row in rows
        for name, seconds in zip(("p50", "p90"), row["run_s_p50_p90_p99"][:2], strict=True)
        if row["passed"]
    ]
    return pd.DataFrame(found)


def durations_of_test(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Durations of a test by day in milliseconds, one row for each day and statistic."""
    found = [
        {
            "day": row["day"],
            "quantile": name,
            "value": row[column],
            "attempts": row["runs"],
            "failed": row["failed"],
        }
        for row in rows
        for name, column in (("mean", "mean_ms"), ("longest", "most_ms"))
        if row[column] is not None
    ]
    return pd.DataFrame(found)


def outcomes_of_test(history: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Results of one test by queue and position: flaky where a commit has both outcomes."""
    found: dict[tuple[str, int], set[str]] = {}
    for row in history:
        if row["position"] is not None:
            state = _OUTCOMES.get(row["outcome"], "failed")
            found.setdefault((row["queue"], row["position"]), set()).add(state)
    return [
        {
            "queue": queue,
            "position": position,
            "state": "flaky" if {"passed", "failed"} <= states else min(states),
        }
        for (queue, position), states in found.items()
    ]


def names_of(rows: Sequence[Mapping[str, Any]], column: str) -> list[str]:
    """Distinct values of a column, sorted."""
    return sorted({str(row[column]) for row in rows})


def nearest_names(name: str, known: Sequence[str], most: int = 8) -> list[str]:
    """Known names that look most like ``name``, nearest first."""
    return get_close_matches(name, known, n=most, cutoff=0.5)
