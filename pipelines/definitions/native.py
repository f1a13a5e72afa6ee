"""Jobs of files in Gauntlet's own language."""

from collections.abc import Iterator
from typing import Any

from gauntlet.pipelines.definitions.job import Job, Tier
from gauntlet.pipelines.definitions.native_models import NativeFile, NativeJob, NativeRow


def native_jobs(file: str, line: int | None, top: NativeFile, model: NativeJob) -> Iterator[Job]:
    """Resolve a job's defaults; yield it for its device, or for each of its vendors.

    The first vendor has the job's own key and label; the others a key with their name in front,
    unless they say another one.
    """
    base = model.model_dump(by_alias=True, exclude_unset=True, exclude={"vendors"})
    if not model.vendors:
        yield _job(file, line, top, NativeRow.model_validate(base), mirror_of=None)
        return
    for index, (vendor, row) in enumerate(model.vendors.items()):
        own = row.model_dump(by_alias=True, exclude_unset=True)
        merged: dict[str, Any] = base | own
        # A vendor adds files that concern it; it cannot ignore those that concern the job.
        sources = (*row.source_file_dependencies, *model.source_file_dependencies)
        merged["source_file_dependencies"] = tuple(dict.fromkeys(sources))
        if index and row.key is None:
            merged["key"] = f"{vendor}-{model.key}"
        if index and row.label is None:
            merged["label"] = f"{model.label} ({vendor})"
        complete = NativeRow.model_validate(merged)
        yield _job(file, line, top, complete, mirror_of=model.key if index else None)


def _job(
    file: str, line: int | None, top: NativeFile, row: NativeRow, *, mirror_of: str | None
) -> Job:
    return Job(
        key=row.key or "",
        label=row.label or "",
        group=top.group,
        file=file,
        line=line,
        commands=row.commands or (),
        device=row.device,
        num_devices=row.num_devices,
        num_nodes=row.num_nodes,
        working_dir=row.working_dir or top.working_dir,
        depends_on=top.depends_on if row.depends_on is None else row.depends_on,
        source_dependencies=row.source_file_dependencies,
        tier=Tier[row.tier.upper()],
        image=row.image,
        always=row.always,
        lends_file=bool(top.depends_on),
        soft_fail=row.soft_fail,
        timeout_in_minutes=row.timeout_in_minutes,
        parallelism=row.parallelism,
        automatic_shard=row.automatic_shard,
        target_minutes=top.target_minutes,
        retry=row.retry,
        env=row.env,
        agent_tags=row.agent_tags,
        agents=row.agents,
        concurrency=row.concurrency,
        concurrency_group=row.concurrency_group,
        condition=row.condition,
        allow_dependency_failure=row.allow_dependency_failure,
        transport=row.transport,
        needs_accelerator=row.accelerator,
        mount_agent=row.mount_agent,
        priority=row.priority,
        hardware_tags=row.hardware_tags,
        mirror_of=mirror_of,
    )
