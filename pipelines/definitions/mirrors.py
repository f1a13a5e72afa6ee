"""Mirrors: the same job on another vendor's hardware, inheriting what it does not change."""

from dataclasses import replace
from typing import TypeVar

from gauntlet.pipelines.definitions.job import Job, Tier
from gauntlet.pipelines.definitions.models import MirrorModel, Mirrors
from gauntlet.pipelines.definitions.vllm import is_image_build, transport_of

T = TypeVar("T")


def mirror_jobs(parent: Job, mirrors: Mirrors | None) -> list[Job]:
    """Derive a job for every mirror that a step declares."""
    if mirrors is None:
        return []
    declared = (("amd", mirrors.amd), ("torch_nightly", mirrors.torch_nightly))
    return [_mirror(parent, vendor, model) for vendor, model in declared if model is not None]


def _mirror(parent: Job, vendor: str, model: MirrorModel) -> Job:
    """Derive one mirror; it is never selected by less than its parent is."""
    prefix = vendor.replace("_", "-")
    sources = dict.fromkeys((*model.source_file_dependencies, *parent.source_dependencies))
    key = model.key or f"{prefix}-{parent.key}"
    own_transport = transport_of(model.no_plugin, model.dind)
    return replace(
        parent,
        key=key,
        label=model.label or f"{prefix.upper()}: {parent.label}",
        device=_or(model.device, parent.device),
        # The device of the other vendor says how many it has; the parent's number is not its.
        num_devices=model.num_devices,
        depends_on=model.depends_on or parent.depends_on,
        source_dependencies=tuple(sources),
        commands=_or(model.commands, parent.commands),
        working_dir=_or(model.working_dir, parent.working_dir),
        timeout_in_minutes=_or(model.timeout_in_minutes, parent.timeout_in_minutes),
        tier=_tier(parent.tier, model.optional),
        image=is_image_build(key),
        soft_fail=_or(model.soft_fail, parent.soft_fail),
        parallelism=_or(model.parallelism, parent.parallelism),
        env=_or(model.env, parent.env),
        agent_tags=_or(model.agent_tags, {}),
        automatic_shard=_or(model.automatic_shard, parent.automatic_shard),
        transport=_or(own_transport, parent.transport),
        needs_accelerator=parent.needs_accelerator if model.no_gpu is None else not model.no_gpu,
        concurrency=_or(model.concurrency, parent.concurrency),
        concurrency_group=_or(model.concurrency_group, parent.concurrency_group),
        mirror_of=parent.key,
    )


def _or(own: T | None, inherited: T) -> T:
    return inherited if own is None else own


def _tier(inherited: Tier, optional: bool | None) -> Tier:
    """A mirror that says nothing runs when its parent does."""
    if optional is None:
        return inherited
    return Tier.NIGHTLY if optional else Tier.READY
