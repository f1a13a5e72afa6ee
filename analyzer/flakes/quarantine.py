"""Quarantine: who may go in, for how long, and when one is over. Pure; decisions are rows."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from gauntlet.analyzer.flakes.found import Flake, Recorded, release_rate
from gauntlet.analyzer.flakes.names import covers
from gauntlet.analyzer.flakes.release_rule import clean_runs, clean_runs_asked
from gauntlet.analyzer.flakes.segments import rate_of
from gauntlet.core.errors import UsageError
from gauntlet.core.yaml_file import StrictModel
from gauntlet.warehouse.rows.measurement import DecisionRow

DAYS = 14
MOST_DAYS = 90
RUN_ID = "flakes"


class Blockers(StrictModel):
    """Tests and jobs that a release waits for: ids, job keys, or patterns with ``*``."""

    tests: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()

    def stops(self, subject: str) -> str | None:
        """Return the entry that names a subject, None where none does; a file names its tests."""
        kind, _, name = subject.partition("/")
        for entry in self.tests if kind == "test" else self.jobs:
            # A class holds its tests both ways: neither it nor one of them may go in.
            within = covers(entry, name) or (kind == "test" and covers(name, entry))
            if within or fnmatchcase(name, entry.replace("[", "[[]")):
                return entry
        return None


class Evidence(BaseModel):
    """What a quarantine rests on; other keys are kept by whoever wrote them."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    owner: str = ""
    rate: float | None = None
    release_rate: float | None = None
    failures: int | None = None
    runs: int | None = None
    clean_runs_needed: int | None = None
    forced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantine:
    """One quarantine that is not released; ``expires_at`` None never ends by time."""

    subject: str
    reason: str
    actor: str
    at: datetime
    expires_at: datetime | None
    evidence: Evidence
    problem: str | None = None

    def expired(self, now: datetime) -> bool:
        """Whether its time is over."""
        return self.expires_at is not None and self.expires_at <= now


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """What somebody asks for: ``subject`` is ``test/NODEID`` or ``job/KEY``."""

    subject: str
    owner: str
    reason: str
    actor: str
    days: int = DAYS
    force: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a look at one quarantine found.

    ``clean`` and ``asked`` are passes in a row since it began, and how many would release it.
    """

    subject: str
    owner: str
    outcome: Literal["kept", "released", "expired"]
    reason: str
    clean: int
    asked: int | None
    failures: int


def open_quarantines(rows: Iterable[Mapping[str, Any]]) -> list[Quarantine]:
    """Read rows of quarantine_words."""
    found = []
    for row in rows:
        evidence, problem = _evidence(row["evidence"])
        found.append(
            Quarantine(
                subject=row["subject"],
                reason=row["reason"],
                actor=row["actor"],
                at=row["at"],
                expires_at=row["expires_at"],
                evidence=evidence,
                problem=problem,
            )
        )
    return found


def admit(
    asked: Admission,
    flakes: Sequence[Flake],
    *,
    blockers: Blockers,
    present: Sequence[Quarantine],
    now: datetime,
) -> DecisionRow:
    """Decide on a quarantine; ``flakes`` are the judged histories of its subject.

    Raises UsageError for a release blocker, for what is in quarantine already, and, unless it is
    forced, for a break and for what shows no failure.
    """
    entry = blockers.stops(asked.subject)
    if entry is not None:
        msg = f"{asked.subject} blocks a release ({entry!r}), so it cannot be quarantined"
        raise UsageError(msg, hint="repair or revert it; only the list of blockers can change this")
    for other in present:
        if other.subject == asked.subject and not other.expired(now):
            until = "for ever" if other.expires_at is None else f"until {other.expires_at:%F %R}"
            msg = f"{asked.subject} is in quarantine already, {until}, owner {_owner(other)}"
            raise UsageError(msg, hint="release it first, or wait until it ends")
    _refuse_breaks(asked, flakes)
    failures = sum(flake.judgement.failures for flake in flakes)
    runs = sum(flake.judgement.runs for flake in flakes)
    if not failures and not asked.force:
        seen = f"its {runs} runs there passed" if runs else "the warehouse has no run of it there"
        msg = f"{asked.subject} did not fail in the window: {seen}"
        raise UsageError(msg, hint="check the name and --branch, widen --days-back, or --force")
    evidence = _evidence_of(asked, flakes, failures, runs)
    return quarantine_row(
        asked.subject, "quarantined", asked.reason, evidence, now,
        actor=asked.actor, expires_at=now + timedelta(days=asked.days),
    )  # fmt: skip


def release(
    subject: str, reason: str, *, actor: str, present: Sequence[Quarantine], now: datetime
) -> DecisionRow:
    """Decide that a quarantine is over. Raises UsageError where there is none."""
    for quarantine in present:
        if quarantine.subject == subject:
            evidence = {"owner": quarantine.evidence.owner}
            return quarantine_row(subject, "released", reason, evidence, now, actor=actor)
    known = ", ".join(quarantine.subject for quarantine in present) or "nothing"
    msg = f"{subject} is not in quarantine; in quarantine: {known}"
    raise UsageError(msg)


def look(
    quarantines: Sequence[Quarantine], recorded: Sequence[Recorded], now: datetime
) -> list[Change]:
    """Decide which quarantines are over; ``recorded`` are histories that reach back to them."""
    return [_look(quarantine, recorded, now) for quarantine in quarantines]


def change_rows(changes: Sequence[Change], now: datetime) -> list[DecisionRow]:
    """Decisions that a look brings: what is kept needs none."""
    return [
        quarantine_row(
            change.subject,
            "released",
            change.reason,
            {
                "owner": change.owner,
                "clean_runs": change.clean,
                "clean_runs_needed": change.asked,
                "failures": change.failures,
                "expired": change.outcome == "expired",
            },
            now,
        )
        for change in changes
        if change.outcome != "kept"
    ]


def quarantine_row(
    subject: str,
    outcome: str,
    reason: str,
    evidence: Mapping[str, object],
    now: datetime,
    *,
    actor: str = "gauntlet",
    expires_at: datetime | None = None,
) -> DecisionRow:
    """Make one row; a quarantine does not block, its end blocks again."""
    row = DecisionRow.of(
        RUN_ID,
        "quarantine",
        subject,
        outcome,
        reason=reason,
        evidence=evidence,
        at=now,
        blocking=outcome != "quarantined",
    )
    return row.model_copy(update={"actor": actor, "expires_at": expires_at})


def _refuse_breaks(asked: Admission, flakes: Sequence[Flake]) -> None:
    broken = [flake for flake in flakes if flake.judgement.state == "broken"]
    if not broken or asked.force:
        return
    worst = broken[0]
    where = f"{worst.recorded.job_key} on {worst.recorded.queue}"
    since = f" since {worst.since[:12]}" if worst.since else ""
    msg = f"{asked.subject} is broken, not flaky: {where}{since}: {worst.judgement.reasons[0]}"
    raise UsageError(msg, hint="repair or revert it; --force quarantines it all the same, recorded")


def _evidence_of(
    asked: Admission, flakes: Sequence[Flake], failures: int, runs: int
) -> dict[str, object]:
    states = sorted({flake.judgement.state for flake in flakes})
    evidence: dict[str, object] = {
        "owner": asked.owner,
        "failures": failures,
        "runs": runs,
        "states": states,
        "forced": asked.force and ("broken" in states or not failures),
        "reasons": [flake.judgement.reasons[0] for flake in flakes[:5]],
    }
    if failures:
        rate = release_rate(failures, runs)
        evidence |= {
            "rate": round(rate_of(failures, runs).mean, 6),
            "release_rate": round(rate, 6),
            "clean_runs_needed": clean_runs_asked(rate, 0),
        }
    return evidence


def _look(quarantine: Quarantine, recorded: Sequence[Recorded], now: datetime) -> Change:
    outcomes = _outcomes_since(quarantine, recorded)
    failures, clean = sum(outcomes), clean_runs(outcomes)
    rate = quarantine.evidence.release_rate
    asked = clean_runs_asked(rate, failures) if rate else None
    change = Change(
        subject=quarantine.subject,
        owner=quarantine.evidence.owner,
        outcome="kept",
        reason="; ".join(
            filter(None, (_progress(clean, asked, failures, len(outcomes)), quarantine.problem))
        ),
        clean=clean,
        asked=asked,
        failures=failures,
    )
    if asked is not None and clean >= asked:
        why = f"passed {clean} times in a row, {asked} were asked for"
        return replace(change, outcome="released", reason=why)
    if quarantine.expired(now):
        until = f"{quarantine.expires_at:%F %R}"
        why = f"expired on {until} with only {change.reason}: it blocks again"
        return replace(change, outcome="expired", reason=why)
    return change


def _outcomes_since(quarantine: Quarantine, recorded: Sequence[Recorded]) -> list[bool]:
    """Runs of a subject since its quarantine began, over all jobs and queues, in time order."""
    runs = [
        (at, failed)
        for each in recorded
        if covers(quarantine.subject, each.subject)
        for at, failed in zip(each.times, each.history.failed, strict=True)
        if at >= quarantine.at
    ]
    return [failed for _, failed in sorted(runs)]


def _progress(clean: int, asked: int | None, failures: int, runs: int) -> str:
    done = f"{clean} clean runs" if asked is None else f"{clean} of {asked} clean runs"
    return f"{done}, {failures} failures in {runs} runs"


def _owner(quarantine: Quarantine) -> str:
    return quarantine.evidence.owner or "nobody"


def _evidence(text: str) -> tuple[Evidence, str | None]:
    """Read evidence; what cannot be read is said, and ends by its expiry alone."""
    try:
        return Evidence.model_validate(json.loads(text or "{}")), None
    except (json.JSONDecodeError, ValidationError) as error:
        return Evidence(), f"its evidence cannot be read: {str(error).splitlines()[0]}"
