"""The shape of the engine's own definition files: pipeline configuration, job files, steps.

A field that some version of the files uses is known here, whether or not a plan needs it yet:
an unknown key is a mistake in a definition, and must be told from a known one.
"""

from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, StrictBool, StrictInt, model_validator

from gauntlet.core.yaml_file import StrictModel


def _listed(value: object) -> object:
    """Read one string, or nothing, where a list may stand."""
    if isinstance(value, str):
        return (value,)
    return () if value is None else value


Keys = Annotated[tuple[str, ...], BeforeValidator(_listed)]
Commands = Annotated[tuple[str, ...], BeforeValidator(_listed), Field(min_length=1)]
Scalar = str | StrictBool | StrictInt | float
Count = Annotated[StrictInt, Field(ge=1)]


class Repositories(StrictModel):
    """Image repositories, by the kind of build."""

    main: str
    premerge: str


class CiConfig(StrictModel):
    """One ``ci_config*.yaml``: which folders make up a pipeline, and what re-runs all of it."""

    name: str
    job_dirs: Annotated[tuple[str, ...], Field(min_length=1)]
    run_all_patterns: Keys = ()
    run_all_exclude_patterns: Keys = ()
    registries: str | None = None
    repositories: Repositories | None = None
    github_repo_name: str = "vllm-project/vllm"


class JobFile(StrictModel):
    """Top level of a job file; its steps are checked one by one, so that one cannot sink all."""

    group: str | None = None
    depends_on: Keys = ()
    steps: list[Any] | None = None


class MirrorModel(StrictModel):
    """What a job changes when it also runs on another vendor's hardware; unset = as its parent."""

    label: str | None = None
    key: str | None = None
    device: str | None = None
    num_devices: Count | None = None
    depends_on: Keys = ()
    source_file_dependencies: Keys = ()
    commands: Commands | None = None
    working_dir: str | None = None
    timeout_in_minutes: Count | None = None
    optional: StrictBool | None = None
    soft_fail: StrictBool | None = None
    parallelism: Count | None = None
    env: dict[str, Scalar] | None = None
    agent_tags: dict[str, Scalar] | None = None
    automatic_shard: StrictBool | None = None
    dind: StrictBool | None = None
    no_gpu: StrictBool | None = None
    no_plugin: StrictBool | None = None
    concurrency: Count | None = None
    concurrency_group: str | None = None


class Mirrors(StrictModel):
    """Mirrors of a job, by vendor."""

    amd: MirrorModel | None = None
    torch_nightly: MirrorModel | None = None


class StepModel(StrictModel):
    """One step of a job file."""

    label: str
    key: str | None = None
    commands: Commands
    device: str | None = None
    gpu: str | None = None
    num_devices: Count | None = None
    num_gpus: Count | None = None
    num_nodes: Count | None = None
    no_gpu: StrictBool | None = None
    source_file_dependencies: Keys = ()
    timeout_in_minutes: Count | None = None
    mirror: Mirrors | None = None
    optional: StrictBool = False
    working_dir: str | None = None
    depends_on: Keys = ()
    automatic_shard: StrictBool = False
    autorun_on_main: StrictBool = False
    no_plugin: StrictBool = False
    parallelism: Count | None = None
    dind: StrictBool | None = None
    env: dict[str, Scalar] = Field(default_factory=dict)
    soft_fail: StrictBool = False
    retry: dict[str, Any] | None = None
    agent_tags: dict[str, Scalar] = Field(default_factory=dict)
    agents: dict[str, Scalar] = Field(default_factory=dict)
    concurrency: Count | None = None
    concurrency_group: str | None = None
    condition: str | None = Field(default=None, alias="if")
    allow_dependency_failure: StrictBool = False
    mount_buildkite_agent: StrictBool = False
    group: str | None = None

    @model_validator(mode="after")
    def _concurrency_is_whole(self) -> Self:
        if (self.concurrency is None) != (self.concurrency_group is None):
            message = "concurrency and concurrency_group come together"
            raise ValueError(message)
        return self
