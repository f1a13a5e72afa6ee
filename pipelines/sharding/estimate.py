"""How long each test of an inventory will take, as far as past runs tell."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from statistics import median

from gauntlet.pipelines.sharding.inventory import TestKey
from gauntlet.pipelines.timings import Timings

DEFAULT_TEST_S = 10.0
"""Seconds for a test of a job of which nothing was ever measured."""
QUANTILE = 0.75
"""Of a test's past durations: above the middle, so that a shard seldom overruns its target, and
below the extremes, so that one stuck machine does not count."""
_LONGEST_S = 1e7


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a test stands in its file. A function holds all its parametrised ids."""

    file: str
    holder: str
    function: str

    @classmethod
    def of(cls, node_id: str) -> "Place":
        """Read an id. Parameters may hold any sign, also ``::`` and brackets."""
        file, _, rest = node_id.partition("::")
        function = rest.partition("[")[0]
        holder, _, _ = function.rpartition("::")
        # A function outside any class is held by nothing but itself.
        return cls(file=file, holder=holder or function, function=function)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimates:
    """Milliseconds per test, and which tests were measured.

    Whole milliseconds, rounded up: sums are exact, and the same in any order.
    """

    ms: Mapping[TestKey, int]
    measured: frozenset[TestKey]

    @property
    def measured_share(self) -> float:
        """Share of the estimated time that rests on measured tests."""
        total = sum(self.ms.values())
        if total == 0:
            return len(self.measured) / len(self.ms) if self.ms else 0.0
        return sum(self.ms[key] for key in self.measured) / total


def estimate(keys: Iterable[TestKey], timings: Timings) -> Estimates:
    """Estimate tests.

    A measured test: the third quartile of its durations. Any other: the median of the measured
    ids of its function, else of its file, else of the job, else ``DEFAULT_TEST_S``.
    """
    keys = tuple(keys)
    known = {name: _quantile(past) for name, past in timings.tests.items() if past}
    measured = frozenset(key for key in keys if key[1] in known)
    # A measured id that the job no longer has still tells about its function and its file.
    groups: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for name, seconds in known.items():
        place = Place.of(name)
        groups[place.file, place.function].append(seconds)
        groups[place.file,].append(seconds)
    groups[()] = [known[name] for _, name in measured]
    middle = {group: median(values) for group, values in groups.items() if values}
    found = {}
    for key in keys:
        name = key[1]
        place = Place.of(name)
        levels = ((place.file, place.function), (place.file,), ())
        guess = next((middle[level] for level in levels if level in middle), DEFAULT_TEST_S)
        found[key] = _ms(known.get(name, guess))
    return Estimates(ms=found, measured=measured)


def _quantile(past: Sequence[float]) -> float:
    """The smallest past duration that at least ``QUANTILE`` of them do not exceed."""
    return sorted(past)[ceil(QUANTILE * len(past)) - 1]


def _ms(seconds: float) -> int:
    return ceil(min(seconds, _LONGEST_S) * 1000)
