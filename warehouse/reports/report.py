"""A test report as columns: one entry per test that ran, and why others did not get in."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from gauntlet.core.errors import GauntletError
from gauntlet.warehouse.rows.base import LONGEST_MS
from gauntlet.warehouse.rows.ci import Outcome as OutcomeWord

LONGEST_S = LONGEST_MS / 1000
MOST_OCCURRENCES = 1 << 16


class Outcome(IntEnum):
    """How a test ended; the values are those of ``test_results.outcome``."""

    PASSED = 1
    FAILED = 2
    ERROR = 3
    SKIPPED = 4
    XFAILED = 5
    XPASSED = 6

    @property
    def word(self) -> OutcomeWord:
        """The outcome as tables and people write it."""
        return _WORDS[self]

    @property
    def severity(self) -> int:
        """Its rank among outcomes: an error over a failure over all the rest."""
        return _SEVERITY[self]


_WORDS: dict[Outcome, OutcomeWord] = {
    Outcome.PASSED: "passed",
    Outcome.FAILED: "failed",
    Outcome.ERROR: "error",
    Outcome.SKIPPED: "skipped",
    Outcome.XFAILED: "xfailed",
    Outcome.XPASSED: "xpassed",
}
_SEVERITY = {
    outcome: rank
    for rank, outcome in enumerate(
        (
            Outcome.PASSED,
            Outcome.SKIPPED,
            Outcome.XFAILED,
            Outcome.XPASSED,
            Outcome.FAILED,
            Outcome.ERROR,
        )
    )
}
BROKEN = (Outcome.FAILED, Outcome.ERROR)


class UnreadableReportError(GauntletError):
    """The file is no report of a kind that is known here, or not one row of it can be trusted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much of a report is read, in bytes, and kept, in characters.

    ``document`` is for what can only be read as a whole: a JSON document, or a line of one.
    """

    bytes: int = 1 << 30
    document: int = 256 << 20
    tag: int = 64 << 20
    cases: int = 5_000_000
    message: int = 2000
    raw: int = 2048
    problems: int = 1000


@dataclass(frozen=True, slots=True)
class Rejection:
    """Something in a report that was refused: where it stands, why, and what it was."""

    position: str
    reasons: tuple[str, ...]
    raw: str


@dataclass(frozen=True, slots=True)
class CaseDetail:
    """What the case at ``index`` said, which did not plainly pass.

    ``file`` and ``line`` are where the report places the test; pytest counts lines from 0.
    """

    index: int
    message: str
    text: str
    file: str
    line: int | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Report:
    """One report; ``nodeids``, ``outcomes``, ``durations_ms`` and ``occurrences`` are parallel.

    ``durations_ms`` is NaN where nothing was measured. ``occurrences`` counts the results of one
    node id in this report from 0, in the order of the file: earlier attempts come first.
    ``duplicates`` is the number of cases left out because their whole suite, with the same
    attributes and the same results, stands in the file twice. ``repaired`` is the number of
    characters that were no text and were replaced by U+FFFD. ``zone_assumed`` says that
    ``started_at`` was written without a time zone and is read as UTC.
    """

    origin: str
    nodeids: list[str]
    outcomes: npt.NDArray[np.int8]
    durations_ms: npt.NDArray[np.float32]
    occurrences: npt.NDArray[np.uint16]
    details: list[CaseDetail] = field(default_factory=list)
    started_at: datetime | None = None
    zone_assumed: bool = False
    hostname: str = ""
    problems: list[Rejection] = field(default_factory=list)
    duplicates: int = 0
    repaired: int = 0

    def counts(self) -> dict[str, int]:
        """Cases by outcome; outcomes that do not occur are left out."""
        return {
            outcome.word: count
            for outcome in Outcome
            if (count := int(np.count_nonzero(self.outcomes == outcome)))
        }

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Report):
            return NotImplemented
        return self._plain() == other._plain() and all(
            np.array_equal(mine, its, equal_nan=mine.dtype.kind == "f")
            for mine, its in zip(self._arrays(), other._arrays(), strict=True)
        )

    def __hash__(self) -> int:
        msg = "a report is compared by its columns and cannot be a key"
        raise TypeError(msg)

    def _plain(self) -> tuple[object, ...]:
        return (
            *(self.origin, self.nodeids, self.details, self.started_at, self.zone_assumed),
            *(self.hostname, self.problems, self.duplicates, self.repaired),
        )

    def _arrays(self) -> tuple[npt.NDArray[np.generic], ...]:
        return self.outcomes, self.durations_ms, self.occurrences


def occurrences_of(nodeids: Sequence[str]) -> npt.NDArray[np.int64]:
    """Number the results of each node id from 0, in their order."""
    if len(set(nodeids)) == len(nodeids):
        return np.zeros(len(nodeids), np.int64)
    seen: Counter[str] = Counter()
    numbers = np.empty(len(nodeids), np.int64)
    for index, nodeid in enumerate(nodeids):
        numbers[index] = seen[nodeid]
        seen[nodeid] += 1
    return numbers
