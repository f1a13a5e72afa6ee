"""Jobs as the rest of the package sees them: every default resolved, every mirror a job."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Literal

from gauntlet.core.errors import Problem

Transport = Literal["docker", "kubernetes", "bare"]
"""How a job gets its environment: a container, a pod, or the agent's own shell."""

Scalar = str | bool | int | float
"""A value of an environment variable or an agent tag."""


class Tier(IntEnum):
    """From which kind of build on a job runs by itself; a later kind holds all earlier ones."""

    FAST = 1
    """Every push."""
    READY = 2
    """A pull request that is ready for review."""
    MERGE = 3
    """A commit on the main branch."""
    NIGHTLY = 4
    """The nightly build, which runs whatever changed."""
    RELEASE = 5
    """A release candidate."""

    @property
    def title(self) -> str:
        """The word that definitions and options use."""
        return self.name.lower()

    @property
    def runs_everything(self) -> bool:
        """Whether builds of this kind run all their jobs, whatever changed."""
        return self >= Tier.NIGHTLY


TIERS = tuple(tier.title for tier in Tier)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job definition; ``file`` is where it is written, relative to the source tree.

    ``image``: it builds an image, or checks one, and runs where a job that runs needs that.
    ``always``: it runs for every change. ``transport`` overrides what its device says.
    ``lends_file``: the definition file itself is one of its source dependencies in the engine's
    own rule. ``target_minutes``: how long its group lets a shard take. ``hardware_tags`` select
    it in a pipeline for one kind of hardware.
    """

    key: str
    label: str
    group: str
    file: str
    line: int | None = field(default=None, compare=False)
    commands: tuple[str, ...]
    device: str | None = None
    num_devices: int | None = None
    num_nodes: int | None = None
    working_dir: str | None = None
    depends_on: tuple[str, ...] = ()
    source_dependencies: tuple[str, ...] = ()
    tier: Tier = Tier.READY
    image: bool = False
    always: bool = False
    lends_file: bool = False
    soft_fail: bool | tuple[int, ...] = False
    timeout_in_minutes: int | None = None
    parallelism: int | None = None
    automatic_shard: bool = False
    target_minutes: int | None = None
    retry: Mapping[str, Any] | None = None
    env: Mapping[str, Scalar] = field(default_factory=dict)
    agent_tags: Mapping[str, Scalar] = field(default_factory=dict)
    agents: Mapping[str, Scalar] = field(default_factory=dict)
    concurrency: int | None = None
    concurrency_group: str | None = None
    condition: str | None = None
    allow_dependency_failure: bool = False
    transport: Transport | None = None
    needs_accelerator: bool = True
    mount_agent: bool = False
    priority: int | None = None
    hardware_tags: tuple[str, ...] = ()
    mirror_of: str | None = None

    @property
    def optional(self) -> bool:
        """Whether it never runs by itself for a pull request."""
        return self.tier > Tier.READY


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenJob:
    """A job, or a whole file, that cannot be read: it runs as a step that fails with its error."""

    key: str
    label: str
    group: str
    file: str
    problems: tuple[Problem, ...]
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelRule:
    """What a label of a pull request asks for: more tiers, or every job of them."""

    tier: Tier | None = None
    run_all: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Definitions:
    """Everything that one pipeline is made of; jobs in the order of the files.

    ``config_file`` is the pipeline's own configuration, whose change runs everything.
    ``elsewhere``: files and folders of other pipelines, wildcards allowed, which no job here
    has to answer for. ``registry`` and ``repositories`` (by kind of build: main, premerge) say
    where its images are.
    """

    name: str
    run_all_patterns: tuple[str, ...]
    run_all_exclude_patterns: tuple[str, ...]
    jobs: tuple[Job, ...]
    broken: tuple[BrokenJob, ...]
    labels: Mapping[str, LabelRule] = field(default_factory=dict)
    config_file: str = ""
    elsewhere: tuple[str, ...] = ()
    registry: str | None = None
    repositories: Mapping[str, str] = field(default_factory=dict)

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of all groups, sorted."""
        names = {job.group for job in self.jobs} | {job.group for job in self.broken}
        return tuple(sorted(names))

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Everything wrong in the definitions."""
        return tuple(problem for job in self.broken for problem in job.problems)
