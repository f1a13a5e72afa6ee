"""The window of a release: until when changes are picked, and what may pass after that."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from gauntlet.core.errors import InfrastructureError
from gauntlet.release.picks.rules import WEEKDAYS, Moment, Schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """When a release was cut, closes for picks, and ships; all UTC, shown by the team's clock."""

    cut: datetime
    closes: datetime
    ships: datetime
    zone: ZoneInfo

    def is_open(self, now: datetime) -> bool:
        """Whether any change may be picked. Raises InfrastructureError for a clock before it."""
        check_clock(now, self.cut, "the release was cut")
        return now < self.closes

    def line(self, now: datetime) -> str:
        """In words."""
        if self.is_open(now):
            return f"the window is open until {self.shown(self.closes)}"
        return f"the window closed on {self.shown(self.closes)}"

    def shown(self, moment: datetime) -> str:
        """A moment by the team's clock."""
        return f"{moment.astimezone(self.zone):%A %F %H:%M %Z}"


def window_of(schedule: Schedule, cut: datetime) -> Window:
    """Find the window of a release: the first closing after its cut, the first shipping after that.

    Times are by the wall clock of the schedule's zone, whatever it does in between; an hour that
    it leaves out is the one after it.
    """
    zone = ZoneInfo(schedule.time_zone)
    closes = _first(schedule.picks_close, cut, zone)
    ships = _first(schedule.ships, closes, zone)
    return Window(cut=cut, closes=closes, ships=ships, zone=zone)


def next_cut(schedule: Schedule, cut: datetime) -> date:
    """The day of the cut after one: the schedule's weekday, so many weeks later."""
    here = cut.astimezone(ZoneInfo(schedule.time_zone)).date()
    monday = here - timedelta(days=here.weekday())
    later = timedelta(weeks=schedule.every_weeks, days=WEEKDAYS.index(schedule.cut))
    return monday + later


def check_clock(now: datetime, before: datetime, what: str) -> None:
    """Refuse to go on where this machine's clock is behind what was done already.

    Raises InfrastructureError with both times.
    """
    if now < before:
        msg = f"{what} on {before:%F %H:%M:%S} UTC, and here it is {now:%F %H:%M:%S} UTC"
        raise InfrastructureError(msg, hint="set this machine's clock")


def late_picks(
    picks: Iterable[tuple[str, tuple[str, ...]]], *, blocker_label: str, blocker: str
) -> tuple[str, ...]:
    """Which picks mend no blocker: neither their labels nor ``blocker`` say so.

    Each pick is its name and the labels of its pull request.
    """
    return tuple(name for name, labels in picks if not blocker and blocker_label not in labels)


def _first(moment: Moment, after: datetime, zone: ZoneInfo) -> datetime:
    start = after.astimezone(zone).date()
    days = (WEEKDAYS.index(moment.weekday) - start.weekday()) % 7
    at = time.fromisoformat(moment.time)
    for later in (days, days + 7):
        day = start + timedelta(days=later)
        found = datetime.combine(day, at, tzinfo=zone).astimezone(UTC)
        if found > after:
            return found
    msg = "a week has every weekday"
    raise AssertionError(msg)
