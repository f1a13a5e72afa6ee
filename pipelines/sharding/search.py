"""Search all ways to put units of files into a number of bins, within a budget of steps."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from gauntlet.pipelines.sharding.inventory import TestKey

MOST_UNITS = 200
"""Of one search, which goes one call deeper for each unit."""
BUDGET = 20_000
"""Steps of one search: a fraction of a second, and no clock: same input, same answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Tests of one file that stay together; ``ms`` is the sum of their times."""

    file: int
    tests: tuple[TestKey, ...]
    ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The bins, or None; ``complete`` where there was nothing left to try."""

    bins: tuple[tuple[Unit, ...], ...] | None
    complete: bool


def search(
    units: Sequence[Unit], *, count: int, room: int, split: int, budget: int = BUDGET
) -> Found:
    """Look for bins that hold all units; a file in several bins costs ``split`` in each of them."""
    if len(units) > MOST_UNITS:
        return Found(bins=None, complete=False)
    totals: dict[int, int] = defaultdict(int)
    for unit in units:
        totals[unit.file] += unit.ms
    # Large ones first, and a file's parts one after the other: dead ends show early.
    ordered = sorted(units, key=lambda u: (-totals[u.file], u.file, -u.ms, u.tests))
    state = _Search(ordered, room=room, split=split, loads=[0] * count, left=budget)
    if not state.place(0, sum(unit.ms for unit in units)):
        return Found(bins=None, complete=state.left > 0)
    bins: list[list[Unit]] = [[] for _ in range(count)]
    for unit, chosen in zip(ordered, state.chosen, strict=True):
        bins[chosen].append(unit)
    return Found(bins=tuple(map(tuple, bins)), complete=True)


@dataclass(slots=True)
class _Search:
    units: Sequence[Unit]
    room: int
    split: int
    loads: list[int]
    left: int
    homes: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    chosen: list[int] = field(default_factory=list)

    def place(self, number: int, remaining: int) -> bool:
        """Place the units from ``number`` on, ``remaining`` ms in all; undo what leads nowhere."""
        if number == len(self.units):
            return True
        if remaining > self.room * len(self.loads) - sum(self.loads):
            return False
        unit = self.units[number]
        homes = self.homes[unit.file]
        tried = set()
        for chosen in sorted(range(len(self.loads)), key=lambda b: (-self.loads[b], b)):
            # Bins of equal load differ only in which file's parts they hold.
            kind = (self.loads[chosen], chosen if chosen in homes else None)
            if kind in tried:
                continue
            tried.add(kind)
            self.left -= 1
            if self.left <= 0:
                return False
            extra = self._extra(homes, chosen)
            self._add(extra, chosen, unit.ms)
            if all(self.loads[b] <= self.room for b in (chosen, *extra)):
                new = chosen not in homes
                homes += [chosen] if new else []
                self.chosen.append(chosen)
                if self.place(number + 1, remaining - unit.ms):
                    return True
                self.chosen.pop()
                if new:
                    homes.pop()
            self._add({b: -cost for b, cost in extra.items()}, chosen, -unit.ms)
        return False

    def _extra(self, homes: list[int], chosen: int) -> dict[int, int]:
        """What splitting costs here: nothing at home; the second home makes both pay."""
        if not homes or chosen in homes:
            return {}
        paying = [chosen, *homes] if len(homes) == 1 else [chosen]
        return dict.fromkeys(paying, self.split)

    def _add(self, extra: dict[int, int], chosen: int, ms: int) -> None:
        self.loads[chosen] += ms
        for number, cost in extra.items():
            self.loads[number] += cost
