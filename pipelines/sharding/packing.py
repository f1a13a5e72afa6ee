"""Pack tests into the fewest bins of one size, in whole files where that costs no bin.

Pure, in whole milliseconds. The model: a bin holds tests; its load is the sum of their times,
plus ``split`` for every file of which it holds only a part, because each part sets up the
file's fixtures again while the measured times hold that set-up once.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial
from itertools import groupby, product
from typing import Literal

from gauntlet.pipelines.sharding.estimate import Place
from gauntlet.pipelines.sharding.inventory import TestKey
from gauntlet.pipelines.sharding.search import BUDGET, Unit, search

Fewest = Literal["lower bound", "search", "not proved"]
"""What says that no packing has fewer bins: the bound on all of them, a search of all of them,
or nothing."""

_EXACT_TESTS = 40
_LEVELLING_STEPS = 20


class Grain(IntEnum):
    """The smallest part into which a file may be split that would fit into a bin whole."""

    FILE = 0
    CLASS = 1
    FUNCTION = 2
    TEST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """Bins of tests, heaviest first, with their loads in ms."""

    bins: tuple[tuple[TestKey, ...], ...]
    loads: tuple[int, ...]
    bound: int
    fewest: Fewest


@dataclass(slots=True)
class _Bin:
    load: int = 0
    units: list[Unit] = field(default_factory=list)
    parts: set[int] = field(default_factory=set)


_Bins = Sequence[Sequence[Unit]]
_Path = tuple[str, str, str, str]
"""File, class, function and id of a test: its place at each grain."""
_Attempt = Callable[[int], _Bins | None]


def pack(
    ms: Mapping[TestKey, int], *, room: int, split: int = 0, most: int | None = None
) -> Packing | None:
    """Pack tests into the fewest bins that hold ``room`` each, then level the bins.

    None where there is nothing to pack, where a test does not fit (see ``misfit``), or where no
    packing into at most ``most`` bins was found.
    """
    if not ms or misfit(ms, room=room, split=split) is not None:
        return None
    places = {key: _path(key) for key in ms}
    packer = _Packer(ms=ms, places=places, files=_files(ms, places), room=room, split=split)
    bound = lower_bound(ms.values(), room)
    proof: Fewest = "lower bound"
    for count in range(bound, min(len(ms), most or len(ms)) + 1):
        found = packer.into(count)
        if found is not None:
            return _packing(found, split, bound, proof)
        proof = "search" if packer.refuted else "not proved"
    return None


def misfit(ms: Mapping[TestKey, int], *, room: int, split: int = 0) -> TestKey | None:
    """Find a test that fits into no bin, be it alone or as a part of a file that must be split.

    Where there is none, a packing exists for some number of bins.
    """
    places = {key: _path(key) for key in ms}
    for file in _files(ms, places):
        most = room if file.ms <= room else room - split
        largest = min(file.tests, key=lambda key: (-ms[key], key))
        if ms[largest] > most:
            return largest
    return None


def lower_bound(sizes: Iterable[int], room: int) -> int:
    """A number of bins below which no packing can get, split or not.

    Two tests of more than half a bin never share one. Beside such a test fits only what its gap
    leaves, so for every threshold: those whose gap is smaller count as full for all tests from
    the threshold on, and what does not fit into the other gaps needs bins of its own (the second
    bound of Martello and Toth).
    """
    sizes = sorted(sizes, reverse=True)
    large = [size for size in sizes if 2 * size > room]
    best = max(1, -(-sum(sizes) // room))
    for threshold in {0, *(room - size + 1 for size in large)}:
        gaps = sum(room - size for size in large if room - size >= threshold)
        rest = sum(size for size in sizes[len(large) :] if size >= threshold)
        best = max(best, len(large) + max(0, -(-(rest - gaps) // room)))
    return best


def _path(key: TestKey) -> _Path:
    place = Place.of(key[1])
    return place.file, place.holder, place.function, key[1]


def _files(ms: Mapping[TestKey, int], places: Mapping[TestKey, _Path]) -> list[Unit]:
    """Every file of every pytest call as one unit, largest first; its functions side by side."""
    grouped: dict[tuple[int, str], list[TestKey]] = defaultdict(list)
    for key in sorted(ms, key=lambda key: (key[0], places[key])):
        grouped[key[0], places[key][0]].append(key)
    units = [_unit(number, tests, ms) for number, tests in enumerate(grouped.values())]
    return sorted(units, key=lambda unit: (-unit.ms, unit.file))


def _unit(file: int, tests: Iterable[TestKey], ms: Mapping[TestKey, int]) -> Unit:
    tests = tuple(tests)
    return Unit(file=file, tests=tests, ms=sum(ms[key] for key in tests))


@dataclass(slots=True, kw_only=True)
class _Packer:
    """Packs one set of files; ``refuted``: the last count was searched through, and is too low."""

    ms: Mapping[TestKey, int]
    places: Mapping[TestKey, _Path]
    files: list[Unit]
    room: int
    split: int
    refuted: bool = False

    def into(self, count: int) -> _Bins | None:
        """Pack into a number of bins, whole files if possible, the smallest parts last."""
        self.refuted = False
        for grain in Grain:
            attempt = partial(self._attempt, count, grain)
            found = self._level(count, attempt) or self._searched(count, grain)
            if found is not None:
                return found
        return None

    def _level(self, count: int, attempt: _Attempt) -> _Bins | None:
        """Lower the bins' size as far as the attempt succeeds, so that loads come out even."""
        best = attempt(self.room)
        if best is None:
            return None
        low = max(-(-sum(self.ms.values()) // count), *self.ms.values())
        high = max(loads(best, self.split))
        for _ in range(_LEVELLING_STEPS):
            if low >= high:
                break
            middle = (low + high) // 2
            found = attempt(middle)
            if found is None:
                low = middle + 1
            else:
                best, high = found, max(loads(found, self.split))
        return best

    def _attempt(self, count: int, grain: Grain, size: int) -> _Bins | None:
        """Pack into bins of a size by each of the quick ways; the most even result, or None."""
        ways = product((True, False), (True, False))
        found = [self._greedy(count, grain, size, early, full) for early, full in ways]
        return min(filter(None, found), key=lambda b: max(loads(b, self.split)), default=None)

    def _greedy(self, count: int, grain: Grain, size: int, early: bool, full: bool) -> _Bins | None:
        """Put the largest file first, each into the fullest (or emptiest) bin that takes it.

        Files that no bin holds whole are poured over several: before the others, or after.
        """
        bins = [_Bin() for _ in range(count)]
        oversized = [file for file in self.files if file.ms > self.room]
        pour = partial(self._pour, bins, grain, size)
        if early and not all(map(pour, oversized)):
            return None
        left = [] if early else oversized
        choose = max if full else min
        for file in self.files[len(oversized) :]:
            fits = [b for b in bins if b.load + file.ms <= size]
            if fits:
                chosen = choose(fits, key=lambda b: b.load)
                chosen.load += file.ms
                chosen.units.append(file)
            elif grain is Grain.FILE:
                return None
            else:
                left.append(file)
        return [b.units for b in bins] if all(map(pour, left)) else None

    def _pour(self, bins: list[_Bin], grain: Grain, size: int, file: Unit) -> bool:
        """Spread a file over the bins in runs as long as they fit, the largest gap first."""
        chosen: _Bin | None = None
        for part in self._parts(file, grain, size - self.split):
            if chosen is None or chosen.load + part.ms > size:
                chosen = min(bins, key=lambda b: b.load + self._cost(b, file))
                if chosen.load + self._cost(chosen, file) + part.ms > size:
                    return False
                chosen.load += self._cost(chosen, file)
                chosen.parts.add(file.file)
            chosen.load += part.ms
            chosen.units.append(part)
        return True

    def _cost(self, chosen: _Bin, file: Unit) -> int:
        return 0 if file.file in chosen.parts else self.split

    def _parts(self, file: Unit, grain: Grain, room: int) -> list[Unit]:
        """Parts of a file: no smaller than the grain says, unless they are larger than room."""
        parts = [file]
        for level in (Grain.CLASS, Grain.FUNCTION, Grain.TEST):
            parts = [
                smaller
                for part in parts
                for smaller in (
                    self._divide(part, level) if grain >= level or part.ms > room else (part,)
                )
            ]
        return parts

    def _divide(self, part: Unit, level: Grain) -> list[Unit]:
        groups = groupby(part.tests, key=lambda key: self.places[key][: level + 1])
        return [_unit(part.file, tests, self.ms) for _, tests in groups]

    def _searched(self, count: int, grain: Grain) -> _Bins | None:
        """Search all packings, of whole files first and at last of single tests."""
        if grain is Grain.FILE:
            units = [
                part
                for file in self.files
                for part in (
                    self._parts(file, grain, self.room - self.split)
                    if file.ms > self.room
                    else [file]
                )
            ]
        elif grain is Grain.TEST and len(self.ms) <= _EXACT_TESTS:
            units = [p for file in self.files for p in self._parts(file, grain, self.room)]
        else:
            return None
        found = search(units, count=count, room=self.room, split=self.split, budget=BUDGET)
        self.refuted = grain is Grain.TEST and found.bins is None and found.complete
        return found.bins


def loads(bins: _Bins, split: int) -> list[int]:
    """Loads of bins in ms by the model above."""
    homes = Counter(file for units in bins for file in {unit.file for unit in units})
    return [
        sum(unit.ms for unit in units)
        + split * sum(1 for file in {unit.file for unit in units} if homes[file] > 1)
        for units in bins
    ]


def _packing(bins: _Bins, split: int, bound: int, proof: Fewest) -> Packing:
    used = [units for units in bins if units]
    weighed = sorted(
        (-load, tuple(sorted(key for unit in units for key in unit.tests)))
        for units, load in zip(used, loads(used, split), strict=True)
    )
    return Packing(
        bins=tuple(tests for _, tests in weighed),
        loads=tuple(-load for load, _ in weighed),
        bound=bound,
        fewest="lower bound" if len(used) == bound else proof,
    )
