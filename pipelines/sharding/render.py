"""A job's commands with our pytest plugin added: to collect its tests, or to run one shard."""

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from gauntlet.core.errors import ConfigError, Problem, UsageError
from gauntlet.pipelines.definitions.job import Job
from gauntlet.pipelines.fleet import fleet_text, parse_fleet
from gauntlet.pipelines.plan import JobStep, Plan, PlanGroup
from gauntlet.pipelines.rendering.pipeline import render
from gauntlet.pipelines.rendering.yaml_text import to_yaml
from gauntlet.pipelines.sharding.inventory import commands_sha256
from gauntlet.pipelines.sharding.plan_file import ShardPlan
from gauntlet.pipelines.sharding.planner import job_doubt
from gauntlet.pipelines.sharding.shell import read_commands

PLUGIN = "gauntlet.pipelines.sharding.plugin"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardPaths:
    """What a shard finds in its container; paths are absolute, since jobs change folders.

    ``receipt`` may hold ``{shard}``, which becomes the shard's number; None writes no receipts.
    ``plugin`` is the module's name. ``plugin_folder`` is where a copy of its file lies, for
    images that do not have Gauntlet; it goes in front of the image's own PYTHONPATH. ``before``
    are shell commands that come first, such as one that fetches the plan.
    """

    plan: str
    receipt: str | None = None
    plugin: str = PLUGIN
    plugin_folder: str | None = None
    before: tuple[str, ...] = ()


def render_shards(job: Job, plan: ShardPlan, paths: ShardPaths) -> Job:
    """Return the job as it runs in shards: its parallelism and its commands.

    Every pytest call gets the plugin's options at its end; all else stays as it was, byte for
    byte. Buildkite's own variables tell each shard its number, so they must reach the container.
    Raises UsageError where the job cannot be shared out, the plan is not
    this job's, or a path is not absolute.
    """
    _check_paths(paths.plan, paths.receipt, paths.plugin_folder)
    _check_job(job)
    if (plan.job, plan.commands_sha256) != (job.key, commands_sha256(job)):
        msg = f"the plan is not one of the job {job.key!r} as it is now"
        raise UsageError(msg, hint="collect and plan again")
    options = [f"--gauntlet-shard-plan={paths.plan}"]
    if paths.receipt is not None:
        options.append(f"--gauntlet-receipt={paths.receipt}")
    commands = (
        *paths.before,
        *_path_lines(paths.plugin_folder),
        *_extended(job.commands, paths.plugin, options),
    )
    # The agent interpolates variables when a pipeline is uploaded; the job's own have none.
    return replace(
        job,
        parallelism=len(plan.shards),
        commands=tuple(command.replace("$", "$$") for command in commands),
    )


def collect_lines(
    job: Job, *, inventory: str, plugin: str = PLUGIN, plugin_folder: str | None = None
) -> tuple[str, ...]:
    """Shell lines that collect a job's tests into ``inventory``, in the image that runs the job.

    Raises UsageError where the job cannot be shared out, or a path is not absolute.
    """
    _check_paths(inventory, plugin_folder)
    _check_job(job)
    header = {
        "schema_version": 1,
        "job": job.key,
        "commands_sha256": commands_sha256(job),
        "commands": [],
    }
    lines = ["set -e"]
    if job.working_dir is not None:
        lines.append(f"cd {shlex.quote(job.working_dir)}")
    lines += [f"export {name}={shlex.quote(_text(value))}" for name, value in job.env.items()]
    lines += _path_lines(plugin_folder)
    # A file that an earlier collection left behind must not lend its entries to this one.
    lines.append(f"printf '%s\\n' {shlex.quote(json.dumps(header))} > {shlex.quote(inventory)}")
    lines += _extended(job.commands, plugin, [f"--gauntlet-collect={inventory}"])
    return tuple(lines)


def _path_lines(folder: str | None) -> list[str]:
    """The line that lets Python find a copy of the plugin, besides what the image has there."""
    if folder is None:
        return []
    return [f'export PYTHONPATH={shlex.quote(folder)}"${{PYTHONPATH:+:$PYTHONPATH}}"']


def _extended(commands: Sequence[str], plugin: str, options: Sequence[str]) -> Iterator[str]:
    """The commands, each pytest call with the plugin, its own number and the options."""
    numbers = {
        position: index for index, (position, _) in enumerate(read_commands(commands).pytest)
    }
    for position, command in enumerate(commands):
        if position not in numbers:
            yield command
            continue
        added = ["-p", plugin, f"--gauntlet-command={numbers[position]}", *options]
        bare = command.rstrip(" \t\n")
        yield f"{bare} {shlex.join(added)}{command[len(bare) :]}"


def _text(value: str | bool | float) -> str:
    """A value as Buildkite passes it on."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_job(job: Job) -> None:
    doubt = job_doubt(job)
    if doubt is not None:
        msg = f"{job.key} cannot run in shards: {doubt}"
        raise UsageError(msg, hint="let it run as it is")


def _check_paths(*paths: str | None) -> None:
    for path in paths:
        if path is not None and (not PurePosixPath(path).is_absolute() or "$" in path):
            msg = f"not an absolute path without variables: {path!r}"
            raise UsageError(msg, hint="the job's commands may change the folder")


def step_yaml(job: Job) -> str:
    """A pipeline that holds this job alone, to be uploaded by a step of the same build.

    The job waits for nothing: what it depends on ran before the step that uploads it. Raises
    ConfigError where its device is unknown.
    """
    fleet = parse_fleet(fleet_text())
    placement = fleet.place(job)
    if isinstance(placement, Problem):
        raise ConfigError([placement])
    step = JobStep(job=job, placement=placement, depends_on=())
    group = PlanGroup(name=job.group, steps=(step,))
    return to_yaml(render(Plan(fleet=fleet, groups=(group,))))
