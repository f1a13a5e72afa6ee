"""The history that incidents are read from: commits in merge order, and what ran at them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Literal

from gauntlet.analyzer.culprits.model import Commit

RunOutcome = Literal["passed", "failed", "infra"]
"""``infra``: the run failed, and says nothing of the commit."""

# A failure of these classes tells of machines, services and people, not of the commit.
SAYS_NOTHING = frozenset(
    {
        "cancelled",
        "flaky",
        "infra_agent",
        "infra_capacity",
        "infra_machine",
        "infra_network",
        "upstream_hub",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One attempt of one job at one commit of the branch.

    ``failing`` are the tests that its report names as failed, ``passing`` those of the tests that
    failed anywhere which passed here; ``reported`` says whether there is a report at all.
    """

    job_id: str
    job_key: str
    sha: str
    at: datetime
    outcome: RunOutcome
    shard: int | None = None
    group_key: str = ""
    queue: str = ""
    host: str = ""
    failure_class: str = ""
    signature: str = ""
    line: str = ""
    failing: frozenset[str] = frozenset()
    passing: frozenset[str] = frozenset()
    reported: bool = False
    url: str = ""
    build_number: int | None = None


@dataclass(frozen=True)
class Mainline:
    """Commits of one branch in merge order, oldest first; a position is an index into them."""

    commits: tuple[Commit, ...]

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """Position of each commit by its full id."""
        return {commit.sha: position for position, commit in enumerate(self.commits)}

    def between(self, after: int | None, upto: int) -> tuple[Commit, ...]:
        """Commits after position ``after`` (None: from the first) up to ``upto``, inclusive."""
        return self.commits[0 if after is None else after + 1 : upto + 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What is known of a branch. Runs at commits that are no longer on it do not count."""

    mainline: Mainline
    runs: tuple[Run, ...]
    now: datetime

    @classmethod
    def of(cls, commits: Iterable[Commit], runs: Iterable[Run], now: datetime) -> "History":
        """Put a history together; runs at commits of a branch that was rewritten are left out."""
        mainline = Mainline(tuple(commits))
        known = [run for run in runs if run.sha in mainline.positions]
        known.sort(key=lambda run: (mainline.positions[run.sha], run.at))
        return cls(mainline=mainline, runs=tuple(known), now=now)


def outcome_of(
    state: str, *, soft_failed: bool, failure_class: str, wrong_exit_code: bool
) -> RunOutcome | None:
    """What Buildkite's state and the class of the failure say of the commit; None for nothing.

    A job that may fail does not make a commit bad. A green job whose log tells of a failure is a
    failed one, and a red job whose log tells of none a passed one.
    """
    if state == "expired":
        return "infra"
    if state not in ("passed", "failed", "timed_out"):
        return None
    red = state != "passed" and not soft_failed
    if wrong_exit_code and (state == "passed" or not failure_class or failure_class == "unknown"):
        red = not red
    if not red:
        return "passed"
    return "infra" if failure_class in SAYS_NOTHING else "failed"
