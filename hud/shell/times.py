"""Times for people: in one zone for the whole page, with its name beside them."""

from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pandas as pd

NONE = "\N{EN DASH}"
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


@dataclass(frozen=True, slots=True)
class Zone:
    """A time zone by its IANA name, such as ``Europe/Berlin``."""

    name: str = "UTC"

    @classmethod
    def of_browser(cls, name: str | None) -> "Zone":
        """The zone that a browser names; UTC where it names none that is known here."""
        try:
            return cls(ZoneInfo(name).key) if name else cls()
        except (ZoneInfoNotFoundError, ValueError):
            return cls()

    def text(self, at: datetime | None) -> str:
        """An instant as ``2026-01-31 14:05``; a dash where there is none."""
        if at is None or pd.isna(at):
            return NONE
        return f"{at.astimezone(ZoneInfo(self.name)):%Y-%m-%d %H:%M}"

    def wall(self, instants: "pd.Series[pd.Timestamp]") -> "pd.Series[pd.Timestamp]":
        """Instants as this zone's wall clock, marked as UTC.

        A chart whose time scale is ``utc`` then shows this zone's digits in any browser.
        """
        aware = pd.to_datetime(instants, utc=True)
        return aware.dt.tz_convert(self.name).dt.tz_localize(None).dt.tz_localize("UTC")


def duration(seconds: float | None) -> str:
    """Words for a stretch of time: ``45 s``, ``12 min``, ``3 h 20 min``, ``4 d 6 h``."""
    if seconds is None or pd.isna(seconds):
        return NONE
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    if seconds < _DAY:
        hours, rest = divmod(round(seconds / _MINUTE), 60)
        return f"{hours} h {rest} min" if rest else f"{hours} h"
    days, rest = divmod(round(seconds / _HOUR), 24)
    return f"{days} d {rest} h" if rest else f"{days} d"


def ago(at: datetime | None, now: datetime) -> str:
    """How long ago: ``12 min ago``; a dash where never."""
    if at is None or pd.isna(at):
        return NONE
    aware = at if at.tzinfo else at.replace(tzinfo=UTC)
    return f"{duration(max(0.0, (now - aware).total_seconds()))} ago"
