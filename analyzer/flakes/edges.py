"""What the commands do: read, decide, record, export."""

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from gauntlet.analyzer.flakes.from_store import (
    KEPT_DAYS,
    read_quarantines,
    read_recorded,
    read_subject,
    split_subject,
)
from gauntlet.analyzer.flakes.quarantine import (
    RUN_ID,
    Admission,
    Blockers,
    Change,
    Quarantine,
    admit,
    change_rows,
    look,
    release,
)
from gauntlet.core.clock import utc_now
from gauntlet.core.errors import NotQualifiedError, UsageError
from gauntlet.core.yaml_file import load_model
from gauntlet.warehouse.batch import decision_batch
from gauntlet.warehouse.delivery import deliver
from gauntlet.warehouse.rows.measurement import DecisionRow
from gauntlet.warehouse.store import Store, open_store

EXPORT_VERSION = 1
_CHECKED_RUNS = 5000


def add_to_quarantine(
    location: str,
    asked: Admission,
    *,
    blockers: Path | None,
    branch: str,
    days_back: int,
    dry_run: bool,
) -> DecisionRow:
    """Judge a subject and put it into quarantine; returns the decision.

    Raises UsageError where it is refused: see :func:`admit`.
    """
    split_subject(asked.subject)
    for name, text in (("--owner", asked.owner), ("--reason", asked.reason)):
        if not text.strip():
            raise UsageError(f"{name} is empty")
    listed = load_model(blockers, Blockers) if blockers else Blockers()
    now = utc_now()
    with open_store(location) as store:
        flakes = read_subject(store, asked.subject, branch=branch, days=days_back)
        present = read_quarantines(store)
    row = admit(asked, flakes, blockers=listed, present=present, now=now)
    _record(location, [row], now, dry_run=dry_run)
    return row


def release_from_quarantine(
    location: str, subject: str, reason: str, *, actor: str, dry_run: bool
) -> DecisionRow:
    """End a quarantine; returns the decision. Raises UsageError where there is none."""
    split_subject(subject)
    if not reason.strip():
        raise UsageError("--reason is empty")
    now = utc_now()
    with open_store(location) as store:
        present = read_quarantines(store)
    row = release(subject, reason, actor=actor, present=present, now=now)
    _record(location, [row], now, dry_run=dry_run)
    return row


def check_quarantines(location: str, *, branch: str, dry_run: bool) -> list[Change]:
    """Look at every quarantine, and record those that are over."""
    now = utc_now()
    with open_store(location) as store:
        changes = look_at_all(store, branch=branch, now=now)
    _record(location, change_rows(changes, now), now, dry_run=dry_run)
    return changes


def look_at_all(store: Store, *, branch: str, now: datetime) -> list[Change]:
    """Decide which quarantines are over, from what ran since each began."""
    quarantines = read_quarantines(store)
    if not quarantines:
        return []
    oldest = min(quarantine.at for quarantine in quarantines)
    recorded = read_recorded(
        store,
        [quarantine.subject for quarantine in quarantines],
        branch=branch,
        days=min((now - oldest).days + 1, KEPT_DAYS),
        runs=_CHECKED_RUNS,
    )
    return look(quarantines, recorded, now)


def raise_for(changes: Sequence[Change]) -> None:
    """Raise NotQualifiedError where a quarantine expired without enough clean runs."""
    over = [change for change in changes if change.outcome == "expired"]
    if over:
        names = ", ".join(f"{change.subject} (owner {change.owner or 'nobody'})" for change in over)
        msg = f"{len(over)} quarantines expired without enough clean runs: {names}"
        raise NotQualifiedError(msg, hint="repair it, or decide anew: gauntlet quarantine add")


def export_text(quarantines: Sequence[Quarantine], now: datetime) -> str:
    """Make the text that the pytest plugin reads: tests in quarantine, and jobs for pipelines."""
    entries: list[dict[str, str | None]] = []
    jobs: list[dict[str, str | None]] = []
    for quarantine in quarantines:
        if quarantine.expired(now):
            continue
        kind, name = split_subject(quarantine.subject)
        shared = {
            "owner": quarantine.evidence.owner,
            "reason": quarantine.reason,
            "expires_at": quarantine.expires_at.isoformat() if quarantine.expires_at else None,
        }
        (entries if kind == "test" else jobs).append(
            {"nodeid" if kind == "test" else "job_key": name, **shared}
        )
    told = {
        "version": EXPORT_VERSION,
        "made_at": now.isoformat(),
        "entries": entries,
        "jobs": jobs,
    }
    return json.dumps(told, indent=1) + "\n"


def plain_quarantines(quarantines: Sequence[Quarantine], now: datetime) -> list[dict[str, object]]:
    """Quarantines as JSON."""
    return [
        {
            "subject": each.subject,
            "owner": each.evidence.owner,
            "reason": each.reason,
            "actor": each.actor,
            "at": each.at.isoformat(),
            "expires_at": each.expires_at.isoformat() if each.expires_at else None,
            "expired": each.expired(now),
            "rate": each.evidence.rate,
            "clean_runs_needed": each.evidence.clean_runs_needed,
            "forced": each.evidence.forced,
            "problem": each.problem,
        }
        for each in quarantines
    ]


def _record(location: str, rows: Sequence[DecisionRow], now: datetime, *, dry_run: bool) -> None:
    if rows and not dry_run:
        deliver(location, [decision_batch(RUN_ID, "quarantine", rows, now)])
