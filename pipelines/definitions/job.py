"""Jobs as the rest of the package sees them: every default resolved, every mirror a job."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gauntlet.core.errors import Problem

Scalar = str | bool | int | float
"""A value of an environment variable or an agent tag."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job definition; ``file`` is where it is written, relative to the source tree."""

    key: str
    label: str
    group: str
    file: str
    commands: tuple[str, ...]
    device: str | None = None
    num_devices: int | None = None
    num_nodes: int | None = None
    working_dir: str | None = None
    depends_on: tuple[str, ...] = ()
    source_dependencies: tuple[str, ...] = ()
    optional: bool = False
    soft_fail: bool = False
    timeout_in_minutes: int | None = None
    parallelism: int | None = None
    retry: Mapping[str, Any] | None = None
    env: Mapping[str, Scalar] = field(default_factory=dict)
    agent_tags: Mapping[str, Scalar] = field(default_factory=dict)
    agents: Mapping[str, Scalar] = field(default_factory=dict)
    concurrency: int | None = None
    concurrency_group: str | None = None
    condition: str | None = None
    allow_dependency_failure: bool = False
    no_plugin: bool = False
    mirror_of: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenJob:
    """A job, or a whole file, that cannot be read: it runs as a step that fails with its error."""

    key: str
    label: str
    group: str
    file: str
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Definitions:
    """Everything that one pipeline is made of; jobs in the order of the files."""

    name: str
    run_all_patterns: tuple[str, ...]
    run_all_exclude_patterns: tuple[str, ...]
    jobs: tuple[Job, ...]
    broken: tuple[BrokenJob, ...]

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of all groups, sorted."""
        names = {job.group for job in self.jobs} | {job.group for job in self.broken}
        return tuple(sorted(names))

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Everything wrong in the definitions."""
        return tuple(problem for job in self.broken for problem in job.problems)
