"""The words of alerts: what is measured, how it read, what was recorded, who keeps still."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from gauntlet.analyzer.acting.policy import Mode
from gauntlet.core.errors import ExitCode

Severity = Literal["page", "notify"]
"""Wake somebody up; tell them in the morning."""
Outcome = Literal["open", "closed", "silenced"]
SILENCE = "silence/"
"""Silences are recorded under this subject and their pattern."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """Something that can be watched.

    ``prefix`` begins the subjects of its alerts. With ``history`` its readings say how it was
    before, so that a rule may ask for how long it holds. ``absent_is_zero``: a subject of which
    nothing is read has nothing wrong, where the measure itself could be read.
    """

    prefix: str
    unit: str
    history: bool
    absent_is_zero: bool


# In the order in which one explains the others: a bad host its full disk, an outage its queues.
MEASURES: Mapping[str, Measure] = {
    "bad-host": Measure(prefix="host", unit="probability", history=False, absent_is_zero=False),
    "hub-outage": Measure(prefix="hub", unit="changes", history=True, absent_is_zero=True),
    "broken-dependency": Measure(
        prefix="dependency", unit="changes", history=True, absent_is_zero=True
    ),
    "disk-pressure": Measure(prefix="disk", unit="failures", history=True, absent_is_zero=True),
    "fast-failures": Measure(
        prefix="fast-failures", unit="changes", history=True, absent_is_zero=True
    ),
    "queue-wait": Measure(prefix="queue-wait", unit="minutes", history=True, absent_is_zero=False),
    "missing-nightly": Measure(prefix="nightly", unit="hours", history=False, absent_is_zero=False),
    "spool-age": Measure(prefix="spool", unit="minutes", history=False, absent_is_zero=False),
    "spool-size": Measure(prefix="spool", unit="MiB", history=False, absent_is_zero=False),
}
RANKS = {name: rank for rank, name in enumerate(MEASURES)}


class Point(NamedTuple):
    """The value of a measure at an instant."""

    at: datetime
    value: float


class Cause(NamedTuple):
    """What several subjects may have in common; they do where at least so many show it."""

    key: str
    least: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One subject of a measure as it is now; ``value`` is in the measure's unit.

    ``series`` is how it was, oldest first, up to now; ``usual`` what is usual at this hour, None
    where that is not known. ``queues`` are those on which an outage shows.
    """

    measure: str
    name: str
    value: float
    reason: str
    series: tuple[Point, ...] = ()
    usual: float | None = None
    causes: tuple[Cause, ...] = ()
    queues: frozenset[str] = frozenset()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def subject(self) -> str:
        """What its alert is about."""
        return f"{MEASURES[self.measure].prefix}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A measure that could not be read, and why; its alerts are neither open nor closed by that."""

    measure: str
    reason: str
    exit_code: ExitCode = ExitCode.INFRASTRUCTURE


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """Alerts that a pattern matches are tracked and not told, until an instant."""

    pattern: str
    until: datetime
    reason: str
    owner: str
    at: datetime

    def covers(self, subject: str, now: datetime) -> bool:
        """Whether it holds for a subject now."""
        return self.at <= now < self.until and fnmatchcase(subject, self.pattern)


class Drained(BaseModel):
    """That a host was to be taken out, how far that went, and until when it stays out."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    mode: Mode
    at: datetime
    by: str = "gauntlet"
    agents: tuple[str, ...] = ()
    until: datetime | None = None
    resumed_at: datetime | None = None
    stops: tuple[str, ...] = ()

    def is_out(self, now: datetime) -> bool:
        """Whether it is out now."""
        over = self.until is not None and self.until <= now
        return self.mode == "act" and self.resumed_at is None and not over


class Evidence(BaseModel):
    """What is recorded with an alert."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    measure: str
    rule: str
    owner: str
    severity: Severity
    value: float
    unit: str
    threshold: float
    members: tuple[str, ...] = ()
    remedy: str = ""
    opened_at: datetime
    reopened: int = 0
    """How often it was opened again within a day of its end."""
    facts: Mapping[str, Any] = Field(default_factory=dict)
    drained: Drained | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The newest word of the warehouse about one alert."""

    subject: str
    outcome: Outcome
    reason: str
    at: datetime
    evidence: Evidence
    actor: str = "gauntlet"

    @property
    def is_open(self) -> bool:
        """Whether it is, told or silenced."""
        return self.outcome != "closed"
