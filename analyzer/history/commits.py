"""Which commits can have caused a change: those between two nights, counted where known."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple, TypedDict

from gauntlet.analyzer.history.series import Night

_SHORT = 7


class Place(NamedTuple):
    """Where a commit stands in the merge order of a repository's branch."""

    repository: str
    position: int


Order = Mapping[str, Place]
"""Places by whole commit id."""


class PlainRange(TypedDict):
    """A range as JSON."""

    after: str
    until: str
    commits: int | None
    nights: int
    after_night: str
    until_night: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRange:
    """What is new after one build, up to and with another one.

    ``after`` is the last build that surely has the old level, ``until`` the first one that surely
    has the new one; either is empty where no row names it. Their places are None where the merge
    order does not know them. ``nights`` counts the nights that brought what is new.
    """

    after: str
    until: str
    nights: int
    after_night: date
    until_night: date
    after_place: Place | None = None
    until_place: Place | None = None

    @property
    def commits(self) -> int | None:
        """How many commits are under suspicion; None where the merge order does not say."""
        before, after = self.after_place, self.until_place
        if before is None or after is None or before.repository != after.repository:
            return None
        # Bisects and old builds measured late stand the other way round: then it says nothing.
        count = after.position - before.position
        return count if count >= 0 else None

    def __str__(self) -> str:
        """As people write it: ``abc1234..def5678, 3 commits``."""
        if self.after and self.after == self.until:
            return f"{short(self.until)} on both sides: the build did not change"
        nights = f"{self.nights} night{'s' * (self.nights != 1)}"
        if not self.after or not self.until:
            return f"{self.after_night}..{self.until_night}, {nights}, builds not known"
        text = f"{short(self.after)}..{short(self.until)}"
        if self.commits is None:
            return f"{text}, {nights}"
        return f"{text}, {self.commits} commit{'s' * (self.commits != 1)}"

    def plain(self) -> PlainRange:
        """As JSON."""
        return PlainRange(
            after=self.after,
            until=self.until,
            commits=self.commits,
            nights=self.nights,
            after_night=self.after_night.isoformat(),
            until_night=self.until_night.isoformat(),
        )


def short(build: str) -> str:
    """A build as it is written in a sentence."""
    return build.removeprefix("sha256:")[:_SHORT]


def range_of(nights: Sequence[Night], first: int, last: int, order: Order) -> CommitRange | None:
    """Find the builds around a change whose first new point is one of ``first`` … ``last``.

    None where nothing was measured before it.
    """
    before = next((n for n in reversed(nights[:first]) if n.measured), None)
    after = next((n for n in nights[last:] if n.measured), None)
    if before is None or after is None:
        return None
    return CommitRange(
        after=before.build,
        until=after.build,
        nights=max(1, sum(night.measured for night in nights[first : last + 1])),
        after_night=before.night,
        until_night=after.night,
        after_place=order.get(before.build),
        until_place=order.get(after.build),
    )


def joined(ranges: Sequence[CommitRange]) -> CommitRange:
    """One range for changes that have one cause: what all agree on, else all that any suspects.

    Raises ValueError for no ranges.
    """
    latest = max(ranges, key=lambda each: each.after_night)
    earliest = min(ranges, key=lambda each: each.until_night)
    if latest.after_night < earliest.until_night:
        first, last = latest, earliest
    else:
        first = min(ranges, key=lambda each: each.after_night)
        last = max(ranges, key=lambda each: each.until_night)
    return CommitRange(
        after=first.after,
        until=last.until,
        nights=first.nights if first is last else (last.until_night - first.after_night).days,
        after_night=first.after_night,
        until_night=last.until_night,
        after_place=first.after_place,
        until_place=last.until_place,
    )
