"""A report while it is being read: columns that grow, and what is settled at its end."""

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import nan

import numpy as np

from gauntlet.warehouse.reports.report import (
    MOST_OCCURRENCES,
    CaseDetail,
    Limits,
    Outcome,
    Rejection,
    Report,
    occurrences_of,
)
from gauntlet.warehouse.reports.text import HEAD, TAIL, shortened
from gauntlet.warehouse.rows.base import implausible_instant

# One object for all, because only the same NaN is equal to itself in a list or a tuple.
NOT_MEASURED = nan
_EAST = timedelta(hours=14)


@dataclass(slots=True)
class DetailDraft:
    """The detail of a case; ``output`` is what the test printed."""

    index: int = -1
    message: str = ""
    text: str = ""
    output: str = ""
    file: str = ""
    line: int | None = None

    def finished(self) -> CaseDetail:
        """Give what the test printed the room that its own text leaves."""
        text = self.text
        room = HEAD + TAIL - len(text) - 1
        if self.output and room > 0:
            text = f"{text}\n{self.output[-room:]}".strip()
        return CaseDetail(self.index, self.message, text, self.file, self.line)


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite that was read to its end: its attributes and its cases, ``start`` to ``stop``."""

    attributes: tuple[tuple[str, str], ...]
    start: int
    stop: int


@dataclass(slots=True)
class Draft:
    """The columns of a report that is being read.

    ``seconds`` may be written to directly, together with ``nodeids``, for cases that passed.
    """

    origin: str
    now: datetime
    limits: Limits
    nodeids: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    details: list[DetailDraft] = field(default_factory=list)
    suites: list[Suite] = field(default_factory=list)
    problems: list[Rejection] = field(default_factory=list)
    problems_seen: int = 0
    repaired: int = 0
    hostname: str = ""
    started_at: datetime | None = None
    zone_assumed: bool = False

    def add(
        self, nodeid: str, seconds: float, outcome: Outcome, detail: DetailDraft | None = None
    ) -> None:
        """Add one case; ``seconds`` is NaN where nothing was measured."""
        if outcome is not Outcome.PASSED:
            detail = detail or DetailDraft()
            detail.index = len(self.nodeids)
            detail.message = shortened(detail.message, self.limits.message)
            self.outcomes[detail.index] = outcome
            self.details.append(detail)
        self.nodeids.append(nodeid)
        self.seconds.append(seconds)

    def reject(self, position: str, reasons: list[str], raw: str) -> None:
        """Note what was refused; past the limit only its number is kept."""
        self.problems_seen += 1
        if len(self.problems) < self.limits.problems:
            raw = shortened(raw, self.limits.raw)
            self.problems.append(Rejection(position, tuple(reasons), raw))

    def begin_at(self, instant: datetime) -> str | None:
        """Note when something in the report began; the earliest counts.

        Returns what is wrong with an instant that cannot be, and is then left out.
        """
        aware = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
        # Read as UTC, the time of a clock in the east lies ahead.
        now = self.now if instant.tzinfo else self.now + _EAST
        wrong = implausible_instant(aware, now)
        if wrong is None and (self.started_at is None or aware < self.started_at):
            self.started_at = aware.astimezone(UTC)
            self.zone_assumed = instant.tzinfo is None
        return wrong

    def finish(self) -> Report:
        """Leave out repeated suites, number the occurrences, and make arrays of the columns."""
        repeated = self._repeated()
        self._drop(repeated)
        occurrences = occurrences_of(self.nodeids)
        over = np.flatnonzero(occurrences >= MOST_OCCURRENCES).tolist()
        if over:
            reason = f"name: more than {MOST_OCCURRENCES} results of one test in one report"
            self.reject("report", [reason], f"{len(over)} cases, first: {self.nodeids[over[0]]}")
            self._drop(set(over))
            occurrences = np.delete(occurrences, over)
        outcomes = np.full(len(self.nodeids), Outcome.PASSED, np.int8)
        outcomes[list(self.outcomes)] = list(self.outcomes.values())
        return Report(
            origin=self.origin,
            nodeids=self.nodeids,
            outcomes=outcomes,
            durations_ms=(np.array(self.seconds, np.float64) * 1000).astype(np.float32),
            occurrences=occurrences.astype(np.uint16),
            details=[detail.finished() for detail in self.details],
            started_at=self.started_at,
            zone_assumed=self.zone_assumed,
            hostname=self.hostname,
            problems=self._all_problems(),
            duplicates=len(repeated),
            repaired=self.repaired,
        )

    def _repeated(self) -> set[int]:
        """Cases of suites that stand in the report a second time, exactly as they were."""
        alike = Counter((suite.attributes, suite.stop - suite.start) for suite in self.suites)
        ends: dict[tuple[object, ...], int] = {}
        repeated: set[int] = set()
        # Outer suites come first: of a repeated suite, everything in it is repeated.
        for suite in sorted(self.suites, key=lambda suite: (suite.start, -suite.stop)):
            size = suite.stop - suite.start
            if not size or suite.start in repeated or alike[suite.attributes, size] == 1:
                continue
            rows = slice(suite.start, suite.stop)
            key = (
                suite.attributes,
                tuple(self.nodeids[rows]),
                tuple(self.seconds[rows]),
                self._said(suite),
            )
            # A suite is no repetition of the one that it stands in.
            if ends.setdefault(key, suite.stop) <= suite.start:
                repeated.update(range(suite.start, suite.stop))
        return repeated

    def _said(self, suite: Suite) -> tuple[object, ...]:
        first, last = (
            bisect_left(self.details, place, key=lambda detail: detail.index)
            for place in (suite.start, suite.stop)
        )
        return tuple(
            (d.index - suite.start, self.outcomes[d.index], d.message, d.text, d.output)
            for d in self.details[first:last]
        )

    def _drop(self, dropped: set[int]) -> None:
        """Take cases out of every column."""
        if not dropped:
            return
        kept = [index for index in range(len(self.nodeids)) if index not in dropped]
        places = {index: place for place, index in enumerate(kept)}
        self.nodeids = [self.nodeids[index] for index in kept]
        self.seconds = [self.seconds[index] for index in kept]
        self.outcomes = {places[i]: o for i, o in self.outcomes.items() if i in places}
        self.details = [detail for detail in self.details if detail.index in places]
        for detail in self.details:
            detail.index = places[detail.index]

    def _all_problems(self) -> list[Rejection]:
        more = self.problems_seen - len(self.problems)
        if not more:
            return self.problems
        reason = f"{more} more were refused; only the first {len(self.problems)} are kept"
        return [*self.problems, Rejection("report", (reason,), "")]
