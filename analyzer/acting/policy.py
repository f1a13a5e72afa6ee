"""The policy of what may be done without a person, as a file; its defaults do nothing."""

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from gauntlet.core.yaml_file import StrictModel, load_model
from gauntlet.services.settings import Buildkite, Chat, Repository
from gauntlet.services.switch import Switch

Mode = Literal["shadow", "notify", "act"]
"""Write down what would be done; tell people as well; do it."""


class Limits(StrictModel):
    """How far one kind of action may go, and how often."""

    mode: Mode = "shadow"
    per_day: int = Field(default=3, ge=0)
    """Actions in 24 hours; 0 is never."""
    cool_down_minutes: int = Field(default=60, ge=0)
    """Least time between two actions."""


class RevertLimits(Limits):
    """Limits of reverts."""

    opt_out_label: str = "no-auto-revert"
    """A label of the culprit's pull request that keeps the bot away from it."""
    branch_prefix: str = "revert/"
    oldest_days: int = Field(default=14, ge=1)
    """A culprit that is older is for people: too much was built upon it."""


class DrainLimits(Limits):
    """Limits of taking hosts out."""

    most_of_queue: float = Field(default=0.1, gt=0, le=0.5)
    """Share of a queue's hosts that may be out at once; one may always be."""
    command: tuple[str, ...] = ()
    """What takes a host out, ``{host}`` for its name; empty: pause its agents at Buildkite."""
    resume_command: tuple[str, ...] = ()
    """What brings a host back, where ``command`` takes it out."""
    pause_minutes: int = Field(default=10_080, ge=5, le=10_080)
    """For how long agents are paused; Buildkite ends a pause after seven days at the latest."""
    auto_resume: bool = False
    """Whether a host returns when its alert closes; else a person lets it return."""


class Probes(StrictModel):
    """How runs are made to find culprits by night, and how many; without ``via`` none are.

    ``command`` runs in worktrees of the repository: ``{tests}`` stands for the ids of the failing
    tests, ``{job}`` for the key of the job. A night is a day of UTC.
    """

    via: Literal["none", "command", "buildkite"] = "none"
    mode: Literal["targeted", "existing"] = "targeted"
    """At Buildkite: a build of one job for every run, or the job of the commit's own build."""
    command: tuple[str, ...] = ()
    build_command: tuple[str, ...] = ()
    """Runs before the command; a commit at which it fails cannot be built."""
    timeout_minutes: float = Field(default=60.0, gt=0)
    """Of one run of the command."""
    at_once: int = Field(default=2, ge=1, le=8)
    runs_per_incident: int = Field(default=60, ge=1)
    minutes_per_incident: float | None = Field(default=None, gt=0)
    runs_per_night: int = Field(default=120, ge=0)
    money_per_night: float | None = Field(default=None, ge=0)
    price_per_minute: float | None = Field(default=None, gt=0)
    """Of one run."""
    most_incidents: int = Field(default=5, ge=0)
    """So many are searched in a night, the gravest first."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        words = " ".join(self.command)
        if self.via == "command" and not any(place in words for place in ("{tests}", "{job}")):
            msg = "via command needs a command with {tests} or {job} in it"
            raise ValueError(msg)
        if self.money_per_night is not None and self.price_per_minute is None:
            msg = "money_per_night needs price_per_minute"
            raise ValueError(msg)
        return self


class Policy(StrictModel):
    """Everything about acting that a team decides; names of variables, never secrets."""

    schema_version: Literal[1] = 1
    switch: Switch = Field(default_factory=Switch)
    repository: Repository = Field(default_factory=Repository)
    buildkite: Buildkite = Field(default_factory=Buildkite)
    chat: Chat = Field(default_factory=Chat)
    revert: RevertLimits = Field(default_factory=RevertLimits)
    drain: DrainLimits = Field(default_factory=DrainLimits)
    propose: Limits = Field(default_factory=Limits)
    """Issues about flaky tests."""
    probes: Probes = Field(default_factory=Probes)


def load_policy(path: Path | None) -> Policy:
    """Read a policy; without a file everything stays in shadow.

    Raises ConfigError with every mistake in the file.
    """
    return Policy() if path is None else load_model(path, Policy)
