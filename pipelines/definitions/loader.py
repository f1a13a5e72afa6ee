"""From the text of definition files to jobs; a mistake costs the job it is in, not the others."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Generic, TypeVar

from pydantic import ValidationError

from gauntlet.core.errors import ConfigError, Problem
from gauntlet.core.yaml_file import StrictModel, YamlDocument, parse_yaml, validate_model
from gauntlet.pipelines.definitions.config import (
    DefinitionFile,
    check_text,
    is_native,
    parse_config,
)
from gauntlet.pipelines.definitions.files import DefinitionFiles
from gauntlet.pipelines.definitions.graph import check_graph
from gauntlet.pipelines.definitions.job import BrokenJob, Definitions, Job, Tier
from gauntlet.pipelines.definitions.keys import safe_key, slug
from gauntlet.pipelines.definitions.legacy import LegacyFile, LegacyStep, legacy_job
from gauntlet.pipelines.definitions.mirrors import mirror_jobs
from gauntlet.pipelines.definitions.models import JobFile, StepModel
from gauntlet.pipelines.definitions.native import native_jobs
from gauntlet.pipelines.definitions.native_models import NativeFile, NativeJob
from gauntlet.pipelines.definitions.vllm import (
    DEFAULT_WORKING_DIR,
    elsewhere,
    is_image_build,
    transport_of,
)

_LOGGER = logging.getLogger(__name__)
_MAX_LABEL = 80

TopT = TypeVar("TopT", bound=StrictModel)
StepT = TypeVar("StepT", bound=StrictModel)


@dataclass(frozen=True, slots=True)
class _Language(Generic[TopT, StepT]):
    """How the files of one language are read. ``steps`` is the key of the list of jobs."""

    top: type[TopT]
    step: type[StepT]
    steps: str
    group: Callable[[TopT], str | None]
    jobs: Callable[[str, int | None, TopT, StepT], Iterable[Job]]


def parse_definitions(files: DefinitionFiles) -> Definitions:
    """Turn the files of one pipeline into jobs and broken jobs.

    Raises ConfigError only where the pipeline's own configuration cannot be read.
    """
    config = parse_config(files.config)
    jobs: list[Job] = []
    broken: list[BrokenJob] = []
    for file in files.jobs:
        good, bad = _load_file(file, legacy=config.language == "legacy")
        jobs += good
        broken += bad
    sound, unsound = check_graph(jobs, broken)
    others = config.elsewhere
    if others is None:
        others = elsewhere(config.job_dirs, _folders(files.others))
    return Definitions(
        name=config.name,
        run_all_patterns=config.run_all_patterns,
        run_all_exclude_patterns=config.run_all_exclude_patterns,
        jobs=tuple(sound),
        broken=tuple(unsound),
        config_file=files.config.path,
        labels=config.labels,
        elsewhere=others,
        registry=config.registry,
        repositories=config.repositories,
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


def _load_file(file: DefinitionFile, *, legacy: bool) -> tuple[list[Job], list[BrokenJob]]:
    try:
        check_text(file)
        document = parse_yaml(file.text, file=file.path)
    except ConfigError as error:
        return [], [_broken_file(file.path, error.problems)]
    if document.value is None:
        # Only comments: a tombstone, not a mistake.
        return [], []
    if legacy:
        return _read(document, _LEGACY)
    return _read(document, _NATIVE) if is_native(document) else _read(document, _VLLM)


def _read(
    document: YamlDocument, language: _Language[TopT, StepT]
) -> tuple[list[Job], list[BrokenJob]]:
    jobs: list[Job] = []
    broken: list[BrokenJob] = []
    try:
        top: TopT | None = validate_model(document, language.top)
    except ConfigError as error:
        broken.append(_broken_file(document.file, error.problems))
        top = _readable_part(document, language.top)
    if top is None:
        return jobs, broken
    group = language.group(top) or PurePosixPath(document.file).stem
    for index, raw in enumerate(getattr(top, language.steps) or []):
        where = (language.steps, index)
        line = document.line(where)
        try:
            step = _load_step(document, where, raw, language.step)
            jobs += language.jobs(document.file, line, top, step)
        except ConfigError as error:
            broken.append(_broken_step(document.file, line, group, index, raw, error.problems))
    return jobs, broken


def _readable_part(document: YamlDocument, model: type[TopT]) -> TopT | None:
    """Whatever of the top level is sound, so that a stray key does not hide the steps."""
    value = document.value if isinstance(document.value, dict) else {}
    known = {name: item for name, item in value.items() if name in model.model_fields}
    try:
        return model.model_validate(known)
    except ValidationError as error:
        wrong = {item["loc"][0] for item in error.errors()}
    if any(model.model_fields[str(name)].is_required() for name in wrong):
        return None
    return model.model_validate({name: known[name] for name in known if name not in wrong})


def _load_step(
    document: YamlDocument, where: tuple[str, int], raw: object, model: type[StepT]
) -> StepT:
    try:
        return model.model_validate(raw)
    except ValidationError:
        # Say it again with line numbers: slow, and only for steps that are wrong.
        lines = {path[2:]: line for path, line in document.lines.items() if path[:2] == where}
        part = YamlDocument(document.file, raw, lines)
        validate_model(part, model)
        raise


def _vllm_jobs(file: str, line: int | None, top: JobFile, step: StepModel) -> list[Job]:
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
    path: str,
    line: int | None,
    group: str,
    index: int,
    raw: object,
    problems: tuple[Problem, ...],
) -> BrokenJob:
    """Name the broken job as it would have been named, as far as that can be told."""
    step = raw if isinstance(raw, dict) else {}
    label = step.get("label") if isinstance(step.get("label"), str) else None
    key = step.get("key") if isinstance(step.get("key"), str) else None
    name = label or key or f"step {index + 1} of {path}"
    return BrokenJob(
        key=safe_key(key or slug(name), f"{path}-{index + 1}"),
        label=name[:_MAX_LABEL],
        group=group,
        file=path,
        problems=problems,
        line=line,
    )


def _legacy_jobs(file: str, line: int | None, top: LegacyFile, step: LegacyStep) -> list[Job]:
    del top
    return [legacy_job(file, line, step)]


_VLLM = _Language(JobFile, StepModel, "steps", lambda top: top.group, _vllm_jobs)
_NATIVE = _Language(NativeFile, NativeJob, "jobs", lambda top: top.group, native_jobs)
_LEGACY = _Language(LegacyFile, LegacyStep, "steps", lambda _: None, _legacy_jobs)
