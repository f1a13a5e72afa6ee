"""From the text of definition files to jobs; a mistake costs the job it is in, not the others."""

import logging
from pathlib import PurePosixPath
from typing import Any

from pydantic import ValidationError

from gauntlet.core.errors import ConfigError, Problem
from gauntlet.core.yaml_file import YamlDocument, parse_yaml, validate_model
from gauntlet.pipelines.definitions.files import (
    DefinitionFile,
    DefinitionFiles,
    check_text,
    parse_config,
)
from gauntlet.pipelines.definitions.graph import check_graph
from gauntlet.pipelines.definitions.job import BrokenJob, Definitions, Job, Tier
from gauntlet.pipelines.definitions.keys import safe_key, slug
from gauntlet.pipelines.definitions.mirrors import mirror_jobs
from gauntlet.pipelines.definitions.models import JobFile, StepModel
from gauntlet.pipelines.definitions.vllm import (
    DEFAULT_WORKING_DIR,
    LABELS,
    elsewhere,
    is_image_build,
    transport_of,
)

_LOGGER = logging.getLogger(__name__)
_MAX_LABEL = 80


def parse_definitions(files: DefinitionFiles) -> Definitions:
    """Turn the files of one pipeline into jobs and broken jobs.

    Raises ConfigError only where the pipeline's own configuration cannot be read.
    """
    config = parse_config(files.config)
    jobs: list[Job] = []
    broken: list[BrokenJob] = []
    for file in files.jobs:
        good, bad = _load_file(file)
        jobs += good
        broken += bad
    sound, unsound = check_graph(jobs, broken)
    return Definitions(
        name=config.name,
        run_all_patterns=config.run_all_patterns,
        run_all_exclude_patterns=config.run_all_exclude_patterns,
        jobs=tuple(sound),
        broken=tuple(unsound),
        config_file=files.config.path,
        labels=LABELS,
        elsewhere=elsewhere(config.job_dirs, _folders(files.others)),
        registry=config.registries,
        repositories=config.repositories.model_dump() if config.repositories else {},
    )


def _folders(configs: tuple[DefinitionFile, ...]) -> list[str]:
    """Job folders of other pipelines; a configuration that cannot be read names none."""
    folders: list[str] = []
    for file in configs:
        try:
            folders += parse_config(file).job_dirs
        except ConfigError as error:
            # It is not this pipeline's: its files then count as owned by nobody, which runs more.
            _LOGGER.warning("%s", error)
    return folders


def _load_file(file: DefinitionFile) -> tuple[list[Job], list[BrokenJob]]:
    try:
        check_text(file)
        document = parse_yaml(file.text, file=file.path)
    except ConfigError as error:
        return [], [_broken_file(file.path, error.problems)]
    if document.value is None:
        # Only comments: a tombstone, not a mistake.
        return [], []
    broken = []
    try:
        top = validate_model(document, JobFile)
    except ConfigError as error:
        broken.append(_broken_file(file.path, error.problems))
        top = _readable_part(document)
    jobs = []
    for index, raw in enumerate(top.steps or []):
        try:
            step = _load_step(document, index, raw)
        except ConfigError as error:
            broken.append(_broken_step(document, top, index, raw, error.problems))
            continue
        jobs += _jobs_of(file.path, document.line(("steps", index)), top, step)
    return jobs, broken


def _readable_part(document: YamlDocument) -> JobFile:
    """Whatever of the top level is sound, so that a stray key does not hide the steps."""
    value = document.value if isinstance(document.value, dict) else {}
    kept: dict[str, Any] = {}
    for name in JobFile.model_fields:
        try:
            JobFile.model_validate({name: value.get(name)})
        except ValidationError:
            continue
        kept[name] = value.get(name)
    return JobFile.model_validate(kept)


def _load_step(document: YamlDocument, index: int, raw: object) -> StepModel:
    try:
        return StepModel.model_validate(raw)
    except ValidationError:
        # Say it again with line numbers: slow, and only for steps that are wrong.
        here = ("steps", index)
        lines = {path[2:]: line for path, line in document.lines.items() if path[:2] == here}
        part = YamlDocument(document.file, raw, lines)
        validate_model(part, StepModel)
        raise


def _jobs_of(file: str, line: int | None, top: JobFile, step: StepModel) -> list[Job]:
    """Resolve a step's defaults; return its job and the job's mirrors."""
    # A group that depends on something lends that, and a working directory, to its steps;
    # a group that does not lends neither. The engine's own generator reads it so.
    lent = top.depends_on
    key = step.key or slug(step.label)
    job = Job(
        key=key,
        label=step.label,
        group=top.group or PurePosixPath(file).stem,
        file=file,
        line=line,
        commands=step.commands,
        device=step.device or step.gpu,
        num_devices=step.num_devices or step.num_gpus,
        num_nodes=step.num_nodes,
        working_dir=step.working_dir or (DEFAULT_WORKING_DIR if lent else None),
        depends_on=step.depends_on or lent,
        source_dependencies=step.source_file_dependencies,
        tier=_tier(step),
        image=is_image_build(key),
        lends_file=bool(lent),
        soft_fail=step.soft_fail,
        timeout_in_minutes=step.timeout_in_minutes,
        parallelism=step.parallelism,
        automatic_shard=step.automatic_shard,
        retry=step.retry,
        env=step.env,
        agent_tags=step.agent_tags,
        agents=step.agents,
        concurrency=step.concurrency,
        concurrency_group=step.concurrency_group,
        condition=step.condition,
        allow_dependency_failure=step.allow_dependency_failure,
        transport=transport_of(step.no_plugin, step.dind),
        needs_accelerator=not step.no_gpu,
        mount_agent=step.mount_buildkite_agent,
    )
    return [job, *mirror_jobs(job, step.mirror)]


def _tier(step: StepModel) -> Tier:
    if not step.optional:
        return Tier.READY
    return Tier.MERGE if step.autorun_on_main else Tier.NIGHTLY


def _broken_file(path: str, problems: tuple[Problem, ...]) -> BrokenJob:
    return BrokenJob(
        key=safe_key(f"broken-{slug(path)}", "file"),
        label=f"Broken definitions: {path}",
        group="Broken definitions",
        file=path,
        problems=problems,
    )


def _broken_step(
    document: YamlDocument, top: JobFile, index: int, raw: object, problems: tuple[Problem, ...]
) -> BrokenJob:
    """Name the broken job as it would have been named, as far as that can be told."""
    path = document.file
    step = raw if isinstance(raw, dict) else {}
    label = step.get("label") if isinstance(step.get("label"), str) else None
    key = step.get("key") if isinstance(step.get("key"), str) else None
    name = label or key or f"step {index + 1} of {path}"
    return BrokenJob(
        key=safe_key(key or slug(name), f"{path}-{index + 1}"),
        label=name[:_MAX_LABEL],
        group=top.group or PurePosixPath(path).stem,
        file=path,
        problems=problems,
        line=document.line(("steps", index)),
    )
