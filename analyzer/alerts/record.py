"""Alerts as decisions: reading them back, and the rows that a look adds."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from gauntlet.analyzer.alerts.hysteresis import Change
from gauntlet.analyzer.alerts.model import SILENCE, Drained, Evidence, Known, Outcome, Silence
from gauntlet.core.errors import UsageError, unknown_name
from gauntlet.warehouse.rows.measurement import DecisionRow

RUN_ID = "alerts"
_OUTCOMES: Mapping[str, Outcome] = {"open": "open", "closed": "closed", "silenced": "silenced"}


class _SilenceEvidence(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    pattern: str
    owner: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreign:
    """An alert that a person or another program recorded, in its own words."""

    subject: str
    outcome: str
    reason: str
    until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What the warehouse says of alerts and silences now."""

    alerts: tuple[Known, ...]
    silences: tuple[Silence, ...]
    others: tuple[Foreign, ...] = ()

    def open_alert(self, subject: str) -> Known:
        """An alert that is open. Raises UsageError where there is none."""
        found = {each.subject: each for each in self.alerts if each.is_open}
        if subject not in found:
            raise unknown_name("open alert", subject, found, hint="gauntlet alerts")
        return found[subject]


def read_recorded(rows: Iterable[Mapping[str, Any]]) -> Recorded:
    """Read rows of ``alert_states``.

    What others recorded under such subjects, in words or with evidence of their own, is theirs:
    it neither opens nor closes anything here.
    """
    alerts, silences, others = [], [], []
    for row in rows:
        subject, outcome = str(row["subject"]), str(row["outcome"])
        if subject.startswith(SILENCE):
            if outcome == "silenced" and row["expires_at"] is not None:
                silences.append(_silence(row))
        elif outcome in _OUTCOMES and (evidence := _evidence(str(row["evidence"]))):
            alerts.append(
                Known(
                    subject=subject,
                    outcome=_OUTCOMES[outcome],
                    reason=str(row["reason"]),
                    at=row["at"],
                    evidence=evidence,
                    actor=str(row["actor"]),
                )
            )
        elif outcome != "closed":
            others.append(
                Foreign(
                    subject=subject,
                    outcome=outcome,
                    reason=str(row["reason"]),
                    until=row["expires_at"],
                )
            )
    return Recorded(alerts=tuple(alerts), silences=tuple(silences), others=tuple(others))


def _evidence(text: str) -> Evidence | None:
    try:
        return Evidence.model_validate_json(text)
    except ValidationError:
        return None  # somebody else's alert


def _silence(row: Mapping[str, Any]) -> Silence:
    pattern = str(row["subject"]).removeprefix(SILENCE)
    try:
        owner = _SilenceEvidence.model_validate_json(row["evidence"]).owner
    except ValidationError:
        owner = str(row["actor"])
    return Silence(
        pattern=pattern,
        until=row["expires_at"],
        reason=str(row["reason"]),
        owner=owner,
        at=row["at"],
    )


def change_rows(changes: Iterable[Change], at: datetime) -> tuple[DecisionRow, ...]:
    """Rows of what is news."""
    return tuple(
        _row(
            change.subject,
            change.outcome,
            change.reason,
            change.evidence,
            at,
            expires_at=change.silence.until if change.silence else None,
        )
        for change in changes
        if change.is_news
    )


def drain_row(change: Change, drained: Drained, host: str, at: datetime) -> DecisionRow:
    """The row that says how far taking out a host went; its alert stays as it is."""
    evidence = change.evidence.model_copy(update={"drained": drained})
    if drained.mode == "act":
        reason = f"{host} was taken out ({', '.join(drained.agents)}): {change.reason}"
    else:
        held = f"; held back: {'; '.join(drained.stops)}" if drained.stops else ""
        reason = f"{host} should be taken out ({drained.mode}{held}): {change.reason}"
    row = _row(
        change.subject,
        change.outcome,
        reason,
        evidence,
        at,
        expires_at=change.silence.until if change.silence else None,
    )
    return row.model_copy(update={"mode": drained.mode, "actor": drained.by})


def return_row(alert: Known, *, actor: str, reason: str, at: datetime) -> DecisionRow:
    """The row that closes the alert of a host because it returned."""
    drained = alert.evidence.drained or Drained(mode="shadow", at=alert.at)
    evidence = alert.evidence.model_copy(
        update={"drained": drained.model_copy(update={"resumed_at": at})}
    )
    return _row(alert.subject, "closed", reason, evidence, at).model_copy(update={"actor": actor})


def close_row(alert: Known, *, actor: str, reason: str, at: datetime) -> DecisionRow:
    """The row by which a person closes an alert.

    Raises UsageError for a host that is out: closing alone would forget that.
    """
    if alert.evidence.drained is not None and alert.evidence.drained.is_out(at):
        host = alert.subject.removeprefix("host/")
        raise UsageError(f"{host} is out", hint=f"gauntlet alerts resume {host}")
    return _row(alert.subject, "closed", reason, alert.evidence, at).model_copy(
        update={"actor": actor}
    )


def silence_row(
    pattern: str, *, until: datetime, reason: str, actor: str, at: datetime
) -> DecisionRow:
    """The row of a silence. Raises UsageError for what no alert could match."""
    if not pattern.strip() or pattern != pattern.strip() or "\n" in pattern:
        raise UsageError(f"{pattern!r} is no subject of an alert", hint="such as 'queue-wait/l4-*'")
    if not reason.strip():
        raise UsageError("--reason is empty", hint="say why nobody need be told")
    row = DecisionRow.of(
        RUN_ID,
        "alert",
        f"{SILENCE}{pattern}",
        "silenced",
        reason=reason,
        evidence={"pattern": pattern, "owner": actor},
        at=at,
        blocking=False,
    )
    return row.model_copy(update={"actor": actor, "expires_at": until})


def unsilence_row(recorded: Recorded, pattern: str, *, actor: str, at: datetime) -> DecisionRow:
    """The row that ends a silence. Raises UsageError where there is none."""
    known = {each.pattern for each in recorded.silences if each.until > at}
    if pattern not in known:
        raise unknown_name("silence", pattern, known, hint="gauntlet alerts")
    row = DecisionRow.of(
        RUN_ID,
        "alert",
        f"{SILENCE}{pattern}",
        "closed",
        reason="the silence was ended",
        evidence={"pattern": pattern, "owner": actor},
        at=at,
        blocking=False,
    )
    return row.model_copy(update={"actor": actor})


def _row(
    subject: str,
    outcome: str,
    reason: str,
    evidence: Evidence,
    at: datetime,
    *,
    expires_at: datetime | None = None,
) -> DecisionRow:
    row = DecisionRow.of(
        RUN_ID,
        "alert",
        subject,
        outcome,
        reason=reason,
        evidence=evidence.model_dump(mode="json"),
        at=at,
        blocking=False,
    )
    return row.model_copy(update={"expires_at": expires_at})
