"""Ways to run something at commits: a command in worktrees here, or a job at Buildkite."""

import os
import shlex
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from gauntlet.analyzer.acting.policy import Policy
from gauntlet.analyzer.culprits.buildkite import BuildkiteProbes, BuildkiteTarget
from gauntlet.analyzer.culprits.folders import remove_left, slots_folder
from gauntlet.analyzer.culprits.investigation import Without
from gauntlet.analyzer.culprits.journal import Journal
from gauntlet.analyzer.culprits.model import Prober
from gauntlet.analyzer.culprits.reverted import Reverter
from gauntlet.analyzer.culprits.seen import Target
from gauntlet.analyzer.culprits.worktrees import Command, Worktrees
from gauntlet.core.errors import UsageError
from gauntlet.core.git import find_commit
from gauntlet.services.limits import Ticker
from gauntlet.services.settings import Buildkite
from gauntlet.services.transport import Patience, Transport
from gauntlet.warehouse.buildkite.api import BuildkiteActions, Pipeline
from gauntlet.warehouse.buildkite.client import HttpBuildkite

Via = Literal["command", "buildkite"]
Mode = Literal["targeted", "existing"]
# A search waits for machines; each request alone is still bounded.
_LONGEST_SEARCH_S = 14 * 86400.0


class Way(Protocol):
    """How runs are made.

    ``whole_job``: a run shows a job, not single tests; ``same_queue``: it runs where the failure
    was seen, so that what ran there before counts in a proof.
    """

    @property
    def name(self) -> Via:
        """The word for it."""

    @property
    def whole_job(self) -> bool:
        """Whether a run shows a job."""

    @property
    def same_queue(self) -> bool:
        """Whether it runs where the failure was seen."""

    @property
    def at_once(self) -> int:
        """How many runs at once."""

    @property
    def without(self) -> Without | None:
        """Takes commits back, where that can be run."""

    def refusal(self, target: Target, shas: Sequence[str]) -> str:
        """Why this target cannot be run at these commits; empty where it can."""

    def words(self, target: Target) -> tuple[str, ...]:
        """What is run, as a search is named by it."""

    def reproduce(self, target: Target, sha: str) -> str:
        """The command of a person that does the same at one commit."""

    def open(self, target: Target, state: Path, journal: Journal) -> AbstractContextManager[Prober]:
        """Begin to run; ``state`` is the search's own folder."""


def filled(template: Sequence[str], target: Target) -> tuple[str, ...]:
    """Fill in a command: ``{job}``, and ``{tests}``, which by itself is one word a test.

    Inside a longer word, such as that of ``sh -c``, ids are quoted for a shell.
    """
    words: list[str] = []
    for word in template:
        if word == "{tests}":
            words += target.tests
        else:
            quoted = word.replace("{tests}", shlex.join(target.tests))
            words.append(quoted.replace("{job}", target.job))
    return tuple(words)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandWay:
    """A command in worktrees of a repository."""

    repository: Path
    template: tuple[str, ...]
    build: tuple[str, ...] = ()
    timeout_s: float = 3600.0
    at_once: int = 1
    name: Via = "command"
    whole_job: bool = False
    same_queue: bool = False

    @property
    def without(self) -> Without | None:
        """Commits taken back are made in the repository itself."""
        return Reverter(self.repository).without

    def refusal(self, target: Target, shas: Sequence[str]) -> str:
        """Why this target cannot be run at these commits; empty where it can."""
        if not target.tests and any("{tests}" in word for word in self.template):
            return f"no test of {target.job} is known to fail, and the command needs {{tests}}"
        for argv in (filled(self.template, target), self.build):
            if argv and "/" not in argv[0] and shutil.which(argv[0]) is None:
                return f"there is no program {argv[0]!r}"
        lacking = [sha for sha in shas if find_commit(self.repository, sha) is None]
        return f"{self.repository} lacks {lacking[0][:10]}: git fetch" if lacking else ""

    def words(self, target: Target) -> tuple[str, ...]:
        """What is run, as a search is named by it."""
        build = ("--build", *self.build) if self.build else ()
        return (*filled(self.template, target), *build)

    def reproduce(self, target: Target, sha: str) -> str:
        """The command of a person that does the same at one commit."""
        steps = [f"git switch --detach {sha}"]
        argvs = (self.build, filled(self.template, target))
        return " && ".join([*steps, *(shlex.join(argv) for argv in argvs if argv)])

    @contextmanager
    def open(self, target: Target, state: Path, journal: Journal) -> Iterator[Prober]:
        """Make worktrees when they are needed; they are removed at the end."""
        del journal
        remove_left(self.repository, state)
        command = Command(
            argv=filled(self.template, target),
            build=self.build,
            timeout_s=self.timeout_s,
            build_timeout_s=self.timeout_s,
            absent_passes=target.born_red,
        )
        with Worktrees(
            self.repository,
            slots_folder(state),
            command,
            logs=state / "logs",
            slots=self.at_once,
        ) as worktrees:
            yield worktrees


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildkiteWay:
    """One job of a pipeline at Buildkite, on its own queue."""

    pipeline: Pipeline
    connect: Callable[[], AbstractContextManager[BuildkiteActions]]
    branch: str = "main"
    mode: Mode = "targeted"
    at_once: int = 2
    ticker: Ticker = field(default_factory=Ticker)
    name: Via = "buildkite"
    whole_job: bool = True
    same_queue: bool = True

    @property
    def without(self) -> Without | None:
        """Agents cannot see commits that exist in a clone alone."""
        return None

    def refusal(self, target: Target, shas: Sequence[str]) -> str:
        """Whatever is missing is told by the service."""
        del target, shas
        return ""

    def words(self, target: Target) -> tuple[str, ...]:
        """What is run, as a search is named by it."""
        return ("buildkite", str(self.pipeline), self.mode, target.job)

    def reproduce(self, target: Target, sha: str) -> str:
        """The command of a person that does the same at one commit."""
        return (
            f"bk build create --pipeline {self.pipeline} --branch {shlex.quote(self.branch)}"
            f" --commit {sha} --env {shlex.quote(f'GAUNTLET_ONLY_JOB={target.job}')}"
        )

    @contextmanager
    def open(self, target: Target, state: Path, journal: Journal) -> Iterator[Prober]:
        """Connect; builds that an earlier process of this search made are taken up again."""
        del state
        with self.connect() as actions:
            wanted = BuildkiteTarget(
                pipeline=self.pipeline,
                job=target.job,
                branch=self.branch,
                search=f"{target.job}-{journal.name}",
                mode=self.mode,
                tests=target.tests,
                absent_passes=target.born_red,
            )
            yield BuildkiteProbes(actions, wanted, ticker=self.ticker, known=journal.runs)


def buildkite_way(
    settings: Buildkite, *, mode: Mode = "targeted", at_once: int = 2
) -> BuildkiteWay:
    """Run at Buildkite. Raises UsageError for what the policy or the environment lacks."""
    for key in ("organization", "pipeline"):
        if not getattr(settings, key):
            msg = f"buildkite: no {key} is named"
            raise UsageError(msg, hint=f"give --{key}, or buildkite.{key} in --policy")
    token = os.environ.get(settings.variable, "").strip()
    if not token:
        hint = f"put a token with read_builds and write_builds into {settings.variable}"
        raise UsageError(f"{settings.variable} is not set", hint=hint)

    @contextmanager
    def connect() -> Iterator[BuildkiteActions]:
        patience = Patience(total_s=_LONGEST_SEARCH_S)
        authorization = f"Bearer {token}"
        with Transport(
            settings.api_url, authorization=authorization, patience=patience
        ) as transport:
            yield HttpBuildkite(transport)

    return BuildkiteWay(
        pipeline=Pipeline(organization=settings.organization, slug=settings.pipeline),
        connect=connect,
        branch=settings.branch,
        mode=mode,
        at_once=at_once,
    )


def way_of(
    policy: Policy,
    repository: Path | None,
    *,
    via: Via | None = None,
    command: Sequence[str] = (),
) -> Way | None:
    """The way that is asked for, else that of the policy; None where neither names one.

    Raises UsageError where something that it needs is missing.
    """
    probes = policy.probes
    chosen = via or ("command" if command else probes.via)
    if chosen == "none":
        return None
    if chosen == "buildkite":
        return buildkite_way(policy.buildkite, mode=probes.mode, at_once=probes.at_once)
    template = tuple(command) or probes.command
    if not template:
        hint = "give -- COMMAND with {tests}, or probes.command in --policy"
        raise UsageError("no command is given", hint=hint)
    if repository is None:
        raise UsageError("a command needs a repository to run in", hint="give --repo DIR")
    return CommandWay(
        repository=repository,
        template=template,
        build=() if command else probes.build_command,
        timeout_s=60 * probes.timeout_minutes,
        at_once=probes.at_once,
    )
