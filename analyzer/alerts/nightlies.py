"""Nightlies that should have begun by now, from their own rhythm. Pure."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from gauntlet.analyzer.alerts.model import Cause, Reading

_SEVERAL = 3
_NEAR = timedelta(hours=6)
_DAY, _WEEK = timedelta(days=1), timedelta(days=7)


def nightly_reading(name: str, starts: Sequence[datetime], now: datetime) -> Reading | None:
    """Read how late a nightly is, in hours; None where it has no rhythm.

    It is expected when it began a week ago at the same hour, if it did so the week before too, or
    on the days around: so that a nightly of weekdays is not missed on Sunday. A start within six
    hours will do.
    """
    if not starts:
        return None
    expected = [
        start + _WEEK
        for start in starts
        if now - _WEEK - 2 * _DAY <= start <= now - _WEEK and _regular(start, starts)
    ]
    if not expected:
        return None
    newest = max(starts)
    due = min((each for each in expected if newest < each - _NEAR), default=None)
    late = 0.0 if due is None else (now - due) / timedelta(hours=1)
    said = f"its last start was at {newest:%F %R} UTC"
    reason = f"{name}: {said}" if due is None else f"{name} was due at {due:%F %R} UTC, {said}"
    return Reading(
        measure="missing-nightly",
        name=name.replace(" ", "/"),
        value=round(late, 2),
        reason=reason,
        causes=(Cause("nightlies that did not begin", _SEVERAL),),
        facts={"last_start": newest.isoformat()},
    )


def _regular(start: datetime, starts: Iterable[datetime]) -> bool:
    known = tuple(starts)
    if _near(start - _WEEK, known):
        return True
    return _near(start - _DAY, known) and _near(start + _DAY, known)


def _near(instant: datetime, starts: Iterable[datetime]) -> bool:
    return any(abs(start - instant) <= _NEAR for start in starts)
