"""vLLM's older, single-file pipeline for AMD hardware (``test-amd.yaml``).

It has no groups, no keys and no dependencies: a job is told from others by its label and its
agent pool, and is shown with the other jobs of that pool.
"""

from typing import Annotated, Any, Self

from pydantic import Field, StrictBool, model_validator

from gauntlet.core.yaml_file import StrictModel
from gauntlet.pipelines.definitions.job import Job, Scalar, Tier
from gauntlet.pipelines.definitions.keys import slug
from gauntlet.pipelines.definitions.models import Commands, Count, Keys
from gauntlet.pipelines.definitions.vllm import DEFAULT_WORKING_DIR, transport_of


class LegacyFile(StrictModel):
    """Top level of the file; its steps are checked one by one."""

    steps: list[Any] | None = None


class LegacyStep(StrictModel):
    """One step of the file."""

    label: str
    key: str | None = None
    command: str | None = None
    commands: Commands | None = None
    fast_check: StrictBool = False
    fast_check_only: StrictBool = False
    optional: StrictBool = False
    soft_fail: StrictBool = False
    mirror_hardwares: Keys = ()
    dind: StrictBool | None = None
    agent_pool: str | None = None
    no_gpu: StrictBool = False
    num_gpus: Count | None = None
    num_nodes: Count | None = None
    timeout_in_minutes: Count | None = None
    parallelism: Count | None = None
    working_dir: str | None = None
    source_file_dependencies: Keys | None = None
    env: Annotated[dict[str, Scalar], Field(default_factory=dict)]

    @model_validator(mode="after")
    def _has_one_kind_of_commands(self) -> Self:
        if (self.command is None) == (self.commands is None):
            message = "a step has either command or commands"
            raise ValueError(message)
        return self


def legacy_job(file: str, line: int | None, step: LegacyStep) -> Job:
    """Resolve a step's defaults. A step that declares no sources always runs."""
    pool = step.agent_pool
    return Job(
        key=step.key or slug(f"{step.label} {pool}" if pool else step.label),
        label=step.label,
        group=pool or "AMD",
        file=file,
        line=line,
        commands=step.commands or (step.command or "",),
        device=pool,
        num_devices=step.num_gpus,
        num_nodes=step.num_nodes,
        working_dir=step.working_dir or DEFAULT_WORKING_DIR,
        source_dependencies=step.source_file_dependencies or (),
        always=not step.source_file_dependencies,
        tier=_tier(step),
        soft_fail=step.soft_fail,
        timeout_in_minutes=step.timeout_in_minutes,
        parallelism=step.parallelism,
        env=step.env,
        transport=transport_of(None, step.dind),
        needs_accelerator=not step.no_gpu,
        hardware_tags=step.mirror_hardwares,
    )


def _tier(step: LegacyStep) -> Tier:
    if step.optional:
        return Tier.NIGHTLY
    return Tier.FAST if step.fast_check or step.fast_check_only else Tier.READY
