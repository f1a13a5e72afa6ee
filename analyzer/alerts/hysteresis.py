"""From readings and what is recorded to what changed: one alert for each cause. Pure."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from gauntlet.analyzer.alerts.grouping import group
from gauntlet.analyzer.alerts.model import (
    MEASURES,
    RANKS,
    Cause,
    Evidence,
    Known,
    Outcome,
    Reading,
    Silence,
    Unread,
)
from gauntlet.analyzer.alerts.rules import Rule, rule_for

ChangeKind = Literal["open", "still", "worse", "close", "silence", "unsilence", "stale"]
NEWS = frozenset({"open", "worse", "close", "silence", "unsilence"})
"""Changes that are recorded; the others say that nothing has changed."""

_WORSE = 2.0
_FLAPPING = timedelta(days=1)
_LEAST_OPEN = timedelta(minutes=30)
_MOST_DOUBLINGS = 3
_Heat = Literal["over", "between", "under"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What became of one alert, and why; ``outcome`` and ``evidence`` are what is recorded."""

    kind: ChangeKind
    subject: str
    outcome: Outcome
    reason: str
    evidence: Evidence
    silence: Silence | None = None

    @property
    def is_news(self) -> bool:
        """Whether it is to be recorded."""
        return self.kind in NEWS


@dataclass(frozen=True, slots=True)
class _Watched:
    reading: Reading
    rule: Rule
    heat: _Heat


def judge(
    readings: Iterable[Reading],
    *,
    unread: Iterable[Unread] = (),
    known: Sequence[Known] = (),
    rules: Sequence[Rule],
    silences: Sequence[Silence] = (),
    now: datetime,
) -> list[Change]:
    """Say what became of every alert: what opens, goes on, is worse, closes, or is stale.

    Judged again with what this recorded, it says nothing new.
    """
    opened = {each.subject: each for each in known if each.is_open}
    watched = _watched(readings, rules, now)
    hot = _hot(watched, opened)
    changes: list[Change] = []
    taken: dict[str, str] = {}
    for readings_of_one in group(hot):
        before = _goes_on(readings_of_one, opened, {*taken, *(each.subject for each in hot)})
        if before is None and all(watched[r.subject].heat != "over" for r in readings_of_one):
            continue  # once a part of another alert, and never enough for one of its own
        change = _held(readings_of_one, before, watched, known, now)
        joined = [name for name in change.evidence.members if name in opened]
        if change.kind == "still" and joined:
            reason = f"{', '.join(joined)} turned out to be a part of it: {change.reason}"
            change = replace(change, kind="worse", reason=reason)
        changes.append(change)
        for subject in (change.subject, *change.evidence.members):
            taken[subject] = change.subject
    blind = {each.measure: each.reason for each in unread}
    for subject, alert in opened.items():
        if taken.get(subject) != subject:
            changes.append(_over(alert, watched.get(subject), taken.get(subject), blind, now))
    return [_with_silence(each, opened.get(each.subject), silences, now) for each in changes]


def _watched(
    readings: Iterable[Reading], rules: Sequence[Rule], now: datetime
) -> dict[str, _Watched]:
    found = {}
    for reading in readings:
        rule = rule_for(rules, reading.measure, reading.name)
        if rule is not None:
            found[reading.subject] = _Watched(reading, rule, _heat(reading, rule, now))
    return found


def _hot(watched: Mapping[str, _Watched], opened: Mapping[str, Known]) -> list[Reading]:
    """What is an alert, or a part of one; what was one alert stays together while it is open."""
    parts: dict[str, list[Cause]] = defaultdict(list)
    for subject, alert in opened.items():
        for name in (subject, *alert.evidence.members):
            parts[name].append(Cause(f"alert {subject}"))
    return [
        replace(each.reading, causes=(*each.reading.causes, *parts[subject]))
        for subject, each in watched.items()
        if each.heat == "over" or (each.heat == "between" and parts[subject])
    ]


def _heat(reading: Reading, rule: Rule, now: datetime) -> _Heat:
    usual = rule.times_usual * (reading.usual or 0.0)
    open_at = max(rule.open_at, usual)
    close_at = max(rule.close_at, usual * rule.close_at / rule.open_at)
    if reading.value >= open_at and _holds(reading, now, rule.open_after_minutes, least=open_at):
        return "over"
    if reading.value <= close_at and _holds(reading, now, rule.close_after_minutes, most=close_at):
        return "under"
    return "between"


def _holds(
    reading: Reading,
    now: datetime,
    minutes: float,
    *,
    least: float = float("-inf"),
    most: float = float("inf"),
) -> bool:
    """Whether the value was in a range for as long; a series that is too short does not say so."""
    if minutes <= 0:
        return True
    since = now - timedelta(minutes=minutes)
    known = [point for point in reading.series if point.at <= now]
    before = [point for point in known if point.at <= since]
    if not before:
        return False
    return all(least <= point.value <= most for point in known if point.at >= before[-1].at)


def _goes_on(
    readings: Sequence[Reading], opened: Mapping[str, Known], elsewhere: Collection[str]
) -> Known | None:
    """The open alert that these readings continue; what explains them better takes its place.

    An alert whose own subject has recovered lives on in its members, unless it does ``elsewhere``.
    """
    subjects = {reading.subject for reading in readings}
    top = min(RANKS[reading.measure] for reading in readings)
    found = [
        each
        for each in opened.values()
        if RANKS.get(each.evidence.measure) == top
        and (
            each.subject in subjects
            or (each.subject not in elsewhere and subjects & set(each.evidence.members))
        )
    ]
    return min(found, key=lambda each: (each.evidence.opened_at, each.subject), default=None)


def _held(
    readings: Sequence[Reading],
    before: Known | None,
    watched: Mapping[str, _Watched],
    known: Sequence[Known],
    now: datetime,
) -> Change:
    """An alert that opens, or that goes on."""
    by_subject = {reading.subject: reading for reading in readings}
    subject = before.subject if before else readings[0].subject
    reading = by_subject.get(subject, readings[0])
    rule = watched[reading.subject].rule
    last = before or next((each for each in known if each.subject == subject), None)
    again = last is not None and not last.is_open and now - last.at < _FLAPPING
    evidence = Evidence(
        measure=reading.measure,
        rule=rule.name,
        owner=rule.owner,
        severity="page" if _any_pages(readings, watched) else "notify",
        value=reading.value,
        unit=rule.unit,
        threshold=max(rule.open_at, rule.times_usual * (reading.usual or 0.0)),
        members=tuple(sorted(set(by_subject) - {subject})),
        remedy=rule.remedy,
        opened_at=before.evidence.opened_at if before else now,
        reopened=last.evidence.reopened + again if last and (before or again) else 0,
        facts=dict(reading.facts),
        drained=last.evidence.drained if last else None,
    )
    reason = reading.reason
    if evidence.members:
        reason += f"; and {len(evidence.members)} more with the same cause"
    kind: ChangeKind = "open" if before is None else "still"
    if before is not None and (what := _worse(before.evidence, evidence)):
        kind, reason = "worse", f"{what}: {reason}"
    return Change(kind=kind, subject=subject, outcome="open", reason=reason, evidence=evidence)


def _any_pages(readings: Sequence[Reading], watched: Mapping[str, _Watched]) -> bool:
    return any(watched[each.subject].rule.severity == "page" for each in readings)


def _worse(before: Evidence, now: Evidence) -> str | None:
    if before.severity == "notify" and now.severity == "page":
        return "it pages now"
    if before.value > 0 and now.value >= _WORSE * before.value:
        return f"{before.value:g} became {now.value:g} {now.unit}"
    grown = len(now.members) + 1
    if grown >= _WORSE * (len(before.members) + 1):
        return f"{len(before.members) + 1} became {grown}"
    return None


def _over(
    alert: Known,
    watched: _Watched | None,
    taken: str | None,
    blind: Mapping[str, str],
    now: datetime,
) -> Change:
    """An alert that no hot reading continues: closed, or still open because nobody can say."""
    measure = MEASURES.get(alert.evidence.measure)
    if taken is not None:
        return _closed(alert, f"it is a part of {taken}")
    if watched is None:
        if alert.evidence.measure in blind:
            return _stale(alert, blind[alert.evidence.measure])
        if measure is None or not measure.absent_is_zero:
            return _stale(alert, "nothing of it can be read any more")
        value = 0.0
        reason = "nothing of it is left"
    elif watched.heat == "under":
        value, reason = watched.reading.value, watched.reading.reason
    else:
        return _still(alert, watched.reading.reason)
    if alert.evidence.reopened and now < (until := _least_open_until(alert.evidence)):
        return _still(alert, f"it was opened again and stays so until {until:%H:%M} UTC; {reason}")
    return _closed(alert, reason, value)


def _least_open_until(evidence: Evidence) -> datetime:
    """An alert that comes and goes stays open, longer each time."""
    doublings = min(evidence.reopened, _MOST_DOUBLINGS)
    return evidence.opened_at + _LEAST_OPEN * (1 << doublings)


def _closed(alert: Known, reason: str, value: float | None = None) -> Change:
    evidence = alert.evidence
    if value is not None:
        evidence = evidence.model_copy(update={"value": value})
    return Change(
        kind="close", subject=alert.subject, outcome="closed", reason=reason, evidence=evidence
    )


def _still(alert: Known, reason: str) -> Change:
    return Change(
        kind="still",
        subject=alert.subject,
        outcome=alert.outcome,
        reason=reason,
        evidence=alert.evidence,
    )


def _stale(alert: Known, why: str) -> Change:
    said = f"{why}; last: {alert.reason}"
    return replace(_still(alert, said), kind="stale")


def _with_silence(
    change: Change, before: Known | None, silences: Sequence[Silence], now: datetime
) -> Change:
    """Track what is silenced without telling it; tell what is open when its silence ends."""
    if change.kind == "close":
        return change
    covering = [each for each in silences if each.covers(change.subject, now)]
    silence = max(covering, key=lambda each: each.until, default=None)
    was_silent = before is not None and before.outcome == "silenced"
    if silence is not None:
        kind: ChangeKind = change.kind
        reason = change.reason
        if before is not None and not was_silent:
            kind = "silence"
            reason = (
                f"silenced until {silence.until:%F %R} UTC by {silence.owner}: {silence.reason}"
            )
        return replace(change, kind=kind, outcome="silenced", reason=reason, silence=silence)
    if was_silent:
        reason = f"the silence is over and it is still open: {change.reason}"
        return replace(change, kind="unsilence", outcome="open", reason=reason)
    return change
