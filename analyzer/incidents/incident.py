"""One incident: one cause, wherever it shows, what it may be due to, and what to do next."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from gauntlet.analyzer.culprits.model import Commit

Kind = Literal["commits", "environment", "infra"]
"""Due to one of a range of commits; to something that no commit changed; to machines."""

Status = Literal["suspected", "confirmed"]
"""Suspected until failures and passes are enough in number that chance does not explain them."""

Ending = Literal[
    "culprit", "range", "nobody", "environment", "exhausted", "confirmed", "cleared", "unclear"
]
"""How a search ended; the last three are of restarts."""

Step = Literal["restart", "bisect", "verify", "compare", "look-back", "wait", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NextStep:
    """What brings an incident forward: ``at`` are the commits to run again or to probe."""

    step: Step
    reason: str
    at: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing that changed between two runs of one commit; None where it was not there."""

    kind: str
    name: str
    before: str | None
    after: str | None
    released_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Culprit:
    """The commit that broke it; ``verified`` only if it fails and its parent passes."""

    commit: Commit
    probability: float
    verified: bool

    def plain(self) -> dict[str, Any]:
        """The keys that the pages read."""
        return {
            "sha": self.commit.sha,
            "title": self.commit.title,
            "author": self.commit.author,
            "pull_request": self.commit.pull_request,
            "probability": self.probability,
            "verified": self.verified,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """What runs that were made for an incident have told, in a word and in sentences.

    ``on`` names what was known before them: with the same knowledge they are not made again.
    """

    outcome: Ending
    on: str
    reasons: tuple[str, ...]
    runs: int

    @property
    def ended(self) -> bool:
        """Whether more runs would tell nothing new."""
        return self.outcome != "exhausted"

    def plain(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "outcome": self.outcome,
            "on": self.on,
            "reasons": list(self.reasons),
            "runs": self.runs,
        }

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> "Searched":
        """Read what ``plain`` wrote."""
        return cls(
            outcome=value["outcome"],
            on=str(value["on"]),
            reasons=tuple(value["reasons"]),
            runs=int(value["runs"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """What is broken, since when, and how sure that is.

    ``first_bad`` and ``last_good`` are commits; ``suspects`` are those after ``last_good`` up to
    ``first_bad``, oldest first, empty where no commit is to blame. ``unknown`` of them did not
    run what fails.
    """

    incident_id: str
    kind: Kind
    status: Status
    signature: str
    failure_class: str
    jobs: tuple[str, ...]
    tests: tuple[str, ...]
    first_bad: str
    last_good: str | None
    suspects: tuple[Commit, ...]
    unknown: int
    failures: int
    passes: int
    opened_at: datetime
    last_seen_at: datetime
    line: str
    url: str
    next_step: NextStep
    reasons: tuple[str, ...]
    differences: tuple[Difference, ...] = ()
    culprit: Culprit | None = None
    revert_url: str | None = None
    queues: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    search: Searched | None = None

    @property
    def summary(self) -> str:
        """One sentence for a list."""
        what = self.tests[0] if self.tests else self.line or self.signature
        more = f" and {len(self.tests) - 1} more tests" if len(self.tests) > 1 else ""
        where = self.jobs[0] if len(self.jobs) == 1 else f"{len(self.jobs)} jobs"
        return f"{what}{more} in {where}"

    def plain(self) -> dict[str, Any]:
        """Plain data: the evidence of its decision."""
        return {
            "kind": self.kind,
            "status": self.status,
            "signature": self.signature,
            "failure_class": self.failure_class,
            "jobs": list(self.jobs),
            "tests": list(self.tests),
            "first_bad": self.first_bad,
            "last_good": self.last_good,
            "suspects": [commit.sha for commit in self.suspects],
            "unknown": self.unknown,
            "failures": self.failures,
            "passes": self.passes,
            "opened_at": self.opened_at.isoformat(),
            "last_seen_at": self.last_seen_at.isoformat(),
            "line": self.line,
            "url": self.url,
            "next": {
                "step": self.next_step.step,
                "reason": self.next_step.reason,
                "at": list(self.next_step.at),
            },
            "reasons": list(self.reasons),
            "differences": [
                {
                    "kind": each.kind,
                    "name": each.name,
                    "before": each.before,
                    "after": each.after,
                    "released_at": each.released_at.isoformat() if each.released_at else None,
                }
                for each in self.differences
            ],
            "culprit": self.culprit.plain() if self.culprit else None,
            "revert_url": self.revert_url,
            "queues": list(self.queues),
            "hosts": list(self.hosts),
            "search": self.search.plain() if self.search else None,
        }

    def with_culprit(self, culprit: Culprit | None, *, reason: str) -> "Incident":
        """The same incident after a search."""
        return replace(self, culprit=culprit, reasons=(*self.reasons, reason))


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """The newest word of the warehouse about an incident."""

    incident_id: str
    outcome: str
    reason: str
    at: datetime
    evidence: Mapping[str, Any] = field(default_factory=dict)

    @property
    def signature(self) -> str:
        """The signature, empty where none was recorded."""
        return str(self.evidence.get("signature", ""))

    @property
    def jobs(self) -> frozenset[str]:
        """Keys of its jobs."""
        return frozenset(self.evidence.get("jobs", ()))

    @property
    def tests(self) -> frozenset[str]:
        """Ids of its tests."""
        return frozenset(self.evidence.get("tests", ()))
