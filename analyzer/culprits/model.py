"""Commits that may be guilty, and the port through which a probe of one is run."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

ProbeOutcome = Literal["passed", "failed", "unbuildable", "infra"]
"""``unbuildable``: this commit can never tell; ``infra``: this run could not, another may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One commit of a first-parent history; ``paths`` are the files that it changed."""

    sha: str
    title: str = ""
    author: str = ""
    committed_at: datetime | None = None
    pull_request: int | None = None
    paths: tuple[str, ...] = ()
    lines_changed: int | None = None
    reverts: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """One run at one commit; ``evidence`` says where to look (a URL, a file), ``seconds`` it took.

    ``value`` is what was measured, where a metric is searched; it then has no outcome of its own.
    """

    sha: str
    outcome: ProbeOutcome
    seconds: float
    evidence: str = ""
    value: float | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """How often a commit failed and passed before anybody searched."""

    failed: int = 0
    passed: int = 0


class Prober(Protocol):
    """Runs the failing thing at commits.

    Raises InfrastructureError or ExternalServiceError where no probe can be run at all.
    """

    def probe(self, shas: Sequence[str]) -> Generator[ProbeResult, None, None]:
        """Run once at each commit, side by side where it can; a commit may stand there twice.

        Gives each result as its run ends, in whatever order, so that none is lost with the others.
        Closing it early ends the runs that go on.
        """
