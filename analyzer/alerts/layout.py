"""Alerts for people: in a terminal, and as entries of a report."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from gauntlet.analyzer.alerts.check import AlertResults
from gauntlet.analyzer.alerts.hysteresis import Change
from gauntlet.analyzer.alerts.model import Evidence, Known
from gauntlet.analyzer.alerts.record import Foreign, Recorded
from gauntlet.analyzer.reports.model import Entry

_MEMBERS = 5


def check_lines(results: AlertResults) -> Iterable[str]:
    """One look: what changed, what goes on, what was done, what could not be read."""
    for change in results.changes:
        silent = " (silenced)" if change.outcome == "silenced" and change.kind != "silence" else ""
        yield f"{change.kind:<9} {change.subject}{silent}  {change.reason}"
        if change.kind != "close":
            yield f"          {_whose(change.evidence)}: {change.evidence.remedy}"
            if change.evidence.members:
                yield f"          with {_some(change.evidence.members)}"
    for act in results.acts:
        held = f" ({'; '.join(act.stops)})" if act.stops else ""
        yield f"{act.word:<9} host {act.host}{held}: {act.reason}"
    for words in unread_words(results):
        yield f"not read  {words}"
    if not results.changes and not results.unread:
        yield "no alert is open"


def state_lines(recorded: Recorded, now: datetime) -> Iterable[str]:
    """What is recorded: open and silenced alerts, hosts that are out, silences."""
    opened = [each for each in recorded.alerts if each.is_open]
    for each in sorted(opened, key=lambda known: (known.evidence.opened_at, known.subject)):
        since = f"{each.evidence.opened_at:%F %R}"
        yield f"{each.outcome:<9} {each.subject}  since {since} UTC  {each.reason}"
        yield f"          {_whose(each.evidence)}: {each.evidence.remedy}"
        if each.evidence.members:
            yield f"          with {_some(each.evidence.members)}"
    for each in hosts_out(recorded, now):
        until = each.evidence.drained.until if each.evidence.drained else None
        ends = f", until {until:%F %R} UTC" if until else ""
        yield f"out       {each.subject}{ends}  gauntlet alerts resume {each.subject[5:]}"
    for other in foreign(recorded, now):
        yield f"other     {other.subject}  {other.outcome}: {other.reason}"
    for silence in recorded.silences:
        if silence.until > now:
            said = f"until {silence.until:%F %R} UTC by {silence.owner}: {silence.reason}"
            yield f"silence   {silence.pattern}  {said}"
    if not opened and not foreign(recorded, now):
        yield "no alert is open"


def hosts_out(recorded: Recorded, now: datetime) -> list[Known]:
    """Alerts of hosts that are out now."""
    return [
        each
        for each in recorded.alerts
        if each.evidence.drained is not None and each.evidence.drained.is_out(now)
    ]


def foreign(recorded: Recorded, now: datetime) -> list[Foreign]:
    """What others said and what has not expired; nothing here closes it."""
    return [each for each in recorded.others if each.until is None or each.until > now]


def plain_states(recorded: Recorded, now: datetime) -> dict[str, Any]:
    """What is recorded, as plain data."""
    return {
        "alerts": [
            {
                "subject": each.subject,
                "outcome": each.outcome,
                "reason": each.reason,
                "at": each.at.isoformat(),
                **each.evidence.model_dump(mode="json"),
            }
            for each in recorded.alerts
            if each.is_open
        ],
        "out": [each.subject.removeprefix("host/") for each in hosts_out(recorded, now)],
        "others": [
            {"subject": each.subject, "outcome": each.outcome, "reason": each.reason}
            for each in foreign(recorded, now)
        ],
        "silences": [
            {
                "pattern": each.pattern,
                "until": each.until.isoformat(),
                "owner": each.owner,
                "reason": each.reason,
            }
            for each in recorded.silences
            if each.until > now
        ],
    }


def alert_entries(results: AlertResults) -> tuple[Entry, ...]:
    """Alerts for the report of a night: those that are told, those that nobody can read, acts.

    Silenced ones are one line together; closed ones are no entry.
    """
    told = [each for each in results.open if each.outcome == "open"]
    silenced = [each.subject for each in results.open if each.outcome == "silenced"]
    entries = [_entry(each) for each in told]
    entries += [
        Entry(
            key=f"drain/{act.host}",
            title=f"host {act.host}: {act.word}",
            facts=(act.reason, *act.stops),
            command=f"gauntlet alerts resume {act.host}" if act.word == "drained" else "",
        )
        for act in results.acts
    ]
    if silenced:
        title = f"{len(silenced)} silenced"
        entries.append(Entry(key="alerts/silenced", title=title, facts=(_some(silenced),)))
    return tuple(entries)


def unread_words(results: AlertResults) -> tuple[str, ...]:
    """What could not be read, a sentence for each reason."""
    reasons: dict[str, list[str]] = {}
    for unread in results.unread:
        reasons.setdefault(unread.reason, []).append(unread.measure)
    return tuple(f"{', '.join(measures)}: {reason}" for reason, measures in reasons.items())


def _entry(change: Change) -> Entry:
    evidence = change.evidence
    facts = [
        f"{change.kind}, since {evidence.opened_at:%F %R} UTC, {_whose(evidence)}",
        change.reason,
    ]
    if evidence.members:
        facts.append(f"with {_some(evidence.members)}")
    facts.append(evidence.remedy)
    return Entry(
        key=change.subject,
        title=change.subject,
        facts=tuple(fact for fact in facts if fact),
        command=f"gauntlet alerts silence {change.subject} --for 4h --reason ...",
    )


def _whose(evidence: Evidence) -> str:
    return f"{evidence.severity} {evidence.owner}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MEMBERS} more" if len(names) > _MEMBERS else ""
    return f"{', '.join(names[:_MEMBERS])}{more}"
