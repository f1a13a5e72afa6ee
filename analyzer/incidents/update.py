"""What there is to record of incidents: what is new, what changed, what has ended."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from gauntlet.analyzer.incidents.detect import detect
from gauntlet.analyzer.incidents.history import History
from gauntlet.analyzer.incidents.incident import Incident, Recorded
from gauntlet.analyzer.incidents.load import (
    load_environments,
    load_history,
    load_recorded,
    turned_bad,
)
from gauntlet.analyzer.incidents.recorded import Continued, Ended, continue_incidents
from gauntlet.core.errors import UsageError, unknown_name
from gauntlet.warehouse.batch import decision_batch
from gauntlet.warehouse.delivery import deliver
from gauntlet.warehouse.rows.measurement import DecisionRow
from gauntlet.warehouse.store import Store

# Times of the newest failure move every night; alone they are no news.
_NO_NEWS = ("last_seen_at", "failures", "passes", "url", "reasons", "hosts", "next", "line")

Word = Literal["open", "fixed", "ignored"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """The incidents of a branch now, and those that have ended since they were recorded."""

    branch: str
    at: datetime
    open: tuple[Continued, ...]
    ended: tuple[Ended, ...]
    builds: int
    """How many commits of those looked at were built."""

    @property
    def incidents(self) -> tuple[Incident, ...]:
        """Open ones that nobody ignores."""
        return tuple(
            each.incident
            for each in self.open
            if each.recorded is None or each.recorded.outcome != "ignored"
        )

    @property
    def ignored(self) -> tuple[Incident, ...]:
        """Open ones that somebody ignores."""
        known = set(self.incidents)
        return tuple(each.incident for each in self.open if each.incident not in known)

    def plain(self) -> dict[str, Any]:
        """Plain data, for programs."""
        return {
            "branch": self.branch,
            "at": self.at.isoformat(),
            "builds": self.builds,
            "open": [_named(each) for each in self.incidents],
            "ignored": [_named(each) for each in self.ignored],
            "ended": [
                {
                    "id": each.recorded.incident_id,
                    "change": each.change,
                    "reason": each.reason,
                    "by": each.by.sha if each.by else None,
                }
                for each in self.ended
            ],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentRequest:
    """Whose history is looked at, and how far back."""

    branch: str = "main"
    commits: int = 200
    days: int = 365
    now: datetime = field(kw_only=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A picture, with what it was drawn from."""

    picture: Picture
    history: History
    recorded: tuple[Recorded, ...]


def picture(store: Store, request: IncidentRequest) -> Picture:
    """Find the incidents of a branch and match them with what was recorded."""
    return look(store, request).picture


def look(store: Store, request: IncidentRequest) -> Look:
    """As ``picture``, with the history and the recorded words."""
    history = load_history(store, branch=request.branch, commits=request.commits, now=request.now)
    environments = load_environments(store, turned_bad(history))
    found = detect(history, environments)
    recorded = load_recorded(store, days=request.days)
    continued, ended = continue_incidents(found, recorded, history)
    found_now = Picture(
        branch=request.branch,
        at=request.now,
        open=tuple(continued),
        ended=tuple(ended),
        builds=len({run.sha for run in history.runs}),
    )
    return Look(picture=found_now, history=history, recorded=tuple(recorded))


def decisions(found: Picture, *, run_id: str = "") -> tuple[DecisionRow, ...]:
    """Rows that a picture adds; what was recorded already, and has not changed, adds none."""
    rows = [
        _decision(each.incident, "open", found.at, run_id)
        for each in found.open
        if each.recorded is None or (each.recorded.outcome == "open" and _news(each))
    ]
    rows += [
        DecisionRow.of(
            run_id,
            "incident",
            each.recorded.incident_id,
            "fixed",
            reason=each.reason,
            evidence={
                **each.recorded.evidence,
                "change": each.change,
                "fixed_by": each.by.sha if each.by else None,
            },
            at=found.at,
            blocking=False,
        )
        for each in found.ended
    ]
    return tuple(rows)


def record(found: Picture, location: str, *, run_id: str = "") -> int:
    """Record what a picture adds; return how many decisions that were."""
    return _write(decisions(found, run_id=run_id), location, found.at)


def record_searched(
    before: Continued, now: Incident, location: str, *, at: datetime, run_id: str = ""
) -> int:
    """Record what a search made of one incident, if that is news; return how many decisions.

    One that nobody recorded yet is recorded with it; one that is ignored stays so.
    """
    known = before.recorded
    changed = Continued(now, known)
    if known is not None and not _news(changed):
        return 0
    word: Word = "ignored" if known is not None and known.outcome == "ignored" else "open"
    row = _decision(now, word, at, run_id)
    return _write([row], location, at, what=now.incident_id)


def one_of(found: Picture, incident_id: str) -> Continued:
    """Find an open incident by its id, which may be cut short.

    Raises UsageError for an id that none has, or that begins several.
    """
    matches = [e for e in found.open if e.incident.incident_id.startswith(incident_id)]
    names = [each.incident.incident_id for each in matches or found.open]
    if len(matches) == 1:
        return matches[0]
    if matches:
        msg = f"{incident_id} begins {', '.join(names)}"
        raise UsageError(msg, hint="write more of the id")
    raise unknown_name("open incident", incident_id, names, hint="gauntlet incidents")


def say(
    known: Sequence[Recorded],
    incident_id: str,
    word: Word,
    *,
    reason: str,
    actor: str,
    at: datetime,
) -> DecisionRow:
    """The word of a person about an incident; it may be named by how its id begins.

    Raises UsageError for an id that nobody recorded, or that begins several.
    """
    matches = [each for each in known if each.incident_id.startswith(incident_id)]
    if not matches:
        names = [each.incident_id for each in known if each.outcome == "open"]
        raise unknown_name("incident", incident_id, names, hint="gauntlet incidents --all")
    if len(matches) > 1:
        raise UsageError(
            f"{incident_id} begins {', '.join(each.incident_id for each in matches)}",
            hint="write more of the id",
        )
    row = DecisionRow.of(
        "",
        "incident",
        matches[0].incident_id,
        word,
        reason=reason,
        evidence=dict(matches[0].evidence),
        at=at,
        blocking=word == "open",
    )
    return row.model_copy(update={"actor": actor})


def record_incident(incident: Incident, location: str, *, at: datetime, run_id: str = "") -> int:
    """Record one open incident of which more is known, such as its culprit."""
    return _write(
        [_decision(incident, "open", at, run_id)], location, at, what=incident.incident_id
    )


def record_reverts(
    opened: Iterable[tuple[Incident, str]], location: str, *, at: datetime, run_id: str = ""
) -> int:
    """Record where the reverts of incidents are to be found."""
    rows = [
        _decision(replace(incident, revert_url=url), "open", at, run_id) for incident, url in opened
    ]
    return _write(rows, location, at, what="incident-reverts")


def write_word(row: DecisionRow, location: str) -> None:
    """Record the word of a person."""
    _write([row], location, row.at)


def _write(
    rows: Iterable[DecisionRow], location: str, at: datetime, *, what: str = "incidents"
) -> int:
    found = tuple(rows)
    if found:
        deliver(location, [decision_batch(found[0].run_id, what, found, at)])
    return len(found)


def _named(incident: Incident) -> dict[str, Any]:
    return {"id": incident.incident_id, **incident.plain()}


def _news(each: Continued) -> bool:
    before = each.recorded.evidence if each.recorded else {}
    said = each.incident.plain()
    return any(said[key] != before.get(key) for key in said if key not in _NO_NEWS)


def _decision(incident: Incident, word: Word, at: datetime, run_id: str) -> DecisionRow:
    return DecisionRow.of(
        run_id,
        "incident",
        incident.incident_id,
        word,
        reason=f"{incident.summary}: {incident.next_step.reason}",
        evidence=incident.plain(),
        at=at,
        blocking=incident.status == "confirmed",
    )
