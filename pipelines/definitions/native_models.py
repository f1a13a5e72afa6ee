"""The shape of Gauntlet's own definitions: vLLM's language, cleaned.

Strict in every key; a tier instead of a bit; vendors as rows of one job instead of copies of it;
nothing follows from the words of a label or from the beginning of a key.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, StrictBool, StrictInt, model_validator

from gauntlet.core.yaml_file import StrictModel
from gauntlet.pipelines.definitions.job import TIERS, Transport
from gauntlet.pipelines.definitions.models import Commands, Count, Keys, Repositories, Scalar

MARKER = "gauntlet"
"""The top-level key by which a file says that it is written in this language."""


def _tier(value: object) -> object:
    if value not in TIERS:
        message = f"one of {', '.join(TIERS)}"
        raise ValueError(message)
    return value


TierName = Annotated[str, BeforeValidator(_tier)]
SoftFail = StrictBool | tuple[StrictInt, ...]


class NativeLabel(StrictModel):
    """What a label of a pull request asks for."""

    tier: TierName | None = None
    run_all: StrictBool = False


class NativeConfig(StrictModel):
    """A pipeline: its job folders, what re-runs all of it, and what its labels mean."""

    gauntlet: Literal[1]
    name: str
    job_dirs: Annotated[tuple[str, ...], Field(min_length=1)]
    run_all_patterns: Keys = ()
    run_all_exclude_patterns: Keys = ()
    labels: dict[str, NativeLabel] = Field(default_factory=dict)
    elsewhere: Keys = ()
    registries: str | None = None
    repositories: Repositories | None = None
    github_repo_name: str | None = None


class NativeFile(StrictModel):
    """Top level of a job file. What stands here holds for every job that says nothing else."""

    gauntlet: Literal[1]
    group: str
    depends_on: Keys = ()
    working_dir: str | None = None
    target_minutes: Count | None = None
    jobs: list[Any] | None = None


class NativeRow(StrictModel):
    """What a job says, or what it says differently on one vendor's hardware."""

    key: str | None = None
    label: str | None = None
    tier: TierName = "ready"
    image: StrictBool = False
    always: StrictBool = False
    commands: Commands | None = None
    device: str | None = None
    num_devices: Count | None = None
    num_nodes: Count | None = None
    accelerator: StrictBool = True
    transport: Transport | None = None
    mount_agent: StrictBool = False
    agent_tags: dict[str, Scalar] = Field(default_factory=dict)
    agents: dict[str, Scalar] = Field(default_factory=dict)
    hardware_tags: Keys = ()
    working_dir: str | None = None
    depends_on: Keys | None = None
    source_file_dependencies: Keys = ()
    timeout_in_minutes: Count | None = None
    parallelism: Count | None = None
    automatic_shard: StrictBool = False
    env: dict[str, Scalar] = Field(default_factory=dict)
    soft_fail: SoftFail = False
    retry: dict[str, Any] | None = None
    priority: StrictInt | None = None
    concurrency: Count | None = None
    concurrency_group: str | None = None
    condition: str | None = Field(default=None, alias="if")
    allow_dependency_failure: StrictBool = False


class NativeJob(NativeRow):
    """One job, on one device or on several vendors' devices."""

    key: str
    label: str
    commands: Commands
    vendors: dict[str, NativeRow] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.vendors and self.device is not None:
            message = "a job has a device or vendors, not both"
            raise ValueError(message)
        if not self.vendors and self.device is None:
            message = "a job needs a device, or vendors with a device each"
            raise ValueError(message)
        for name, row in self.vendors.items():
            if row.device is None:
                message = f"vendors.{name} needs a device"
                raise ValueError(message)
        if (self.concurrency is None) != (self.concurrency_group is None):
            message = "concurrency and concurrency_group come together"
            raise ValueError(message)
        if self.parallelism is not None and self.automatic_shard:
            message = "parallelism and automatic_shard exclude each other"
            raise ValueError(message)
        return self
