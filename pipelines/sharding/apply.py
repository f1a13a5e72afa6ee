"""Let jobs of a plan run in shards, where there is a shard plan that is really theirs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import resources

from gauntlet.core.errors import ConfigError, UsageError
from gauntlet.core.json_file import parse_json_model
from gauntlet.pipelines.plan import JobStep, Plan, Step
from gauntlet.pipelines.sharding.plan_file import ShardPlan
from gauntlet.pipelines.sharding.render import ShardPaths, render_shards

FOLDER = "gauntlet-shards"
"""Where plans, plugin and receipts are: among a build's artifacts and in the job's container."""
PLUGIN = "gauntlet_shard"
_PLACE = "/tmp"  # noqa: S108 - in the container of one job


def shard_steps(plan: Plan, texts: Sequence[str]) -> tuple[Plan, tuple[str, ...]]:
    """Share out the jobs that have a shard plan; say of each what became of it. Pure.

    A plan that cannot be read, or is of other commands, leaves its job as it is: the tests run
    all the same, only longer.
    """
    notes: list[str] = []
    plans = _read(texts, notes)
    groups = [
        replace(group, steps=tuple(_shared_out(step, plans, notes) for step in group.steps))
        for group in plan.groups
    ]
    return replace(plan, groups=tuple(groups)), tuple(sorted(notes))


def paths_of(key: str) -> ShardPaths:
    """Where a job finds its plan and the plugin: artifacts of the build, fetched first of all."""
    plan, receipts = f"{FOLDER}/{key}.json", f"{FOLDER}/receipts/{key}"
    return ShardPaths(
        plan=f"{_PLACE}/{plan}",
        receipt=f"{_PLACE}/{receipts}-{{shard}}.json",
        plugin=PLUGIN,
        plugin_folder=f"{_PLACE}/{FOLDER}",
        before=(
            f"buildkite-agent artifact download {FOLDER}/{PLUGIN}.py {_PLACE}/",
            f"buildkite-agent artifact download {plan} {_PLACE}/",
            f"mkdir -p {_PLACE}/{FOLDER}/receipts",
            f"trap 'cd {_PLACE} && buildkite-agent artifact upload {receipts}-*.json' EXIT",
        ),
    )


def attachments(texts: Sequence[str]) -> dict[str, str]:
    """Files that the build needs as artifacts, by their path: the plans, and the plugin."""
    plugin = resources.files("gauntlet.pipelines.sharding").joinpath("plugin.py")
    files = {f"{FOLDER}/{plan.job}.json": text for plan, text in _readable(texts)}
    return files | {f"{FOLDER}/{PLUGIN}.py": plugin.read_text("utf-8")}


def _readable(texts: Sequence[str]) -> Iterator[tuple[ShardPlan, str]]:
    for text in texts:
        try:
            yield parse_json_model(text, ShardPlan, file="shard plan"), text
        except ConfigError:
            # Its job stays as it is, which shard_steps says.
            continue


def _read(texts: Sequence[str], notes: list[str]) -> dict[str, ShardPlan]:
    plans = {}
    for number, text in enumerate(texts, start=1):
        try:
            plan = parse_json_model(text, ShardPlan, file=f"shard plan {number}")
        except ConfigError as error:
            notes.append(f"a shard plan cannot be used: {error}")
        else:
            plans[plan.job or ""] = plan
    return plans


def _shared_out(step: Step, plans: Mapping[str, ShardPlan], notes: list[str]) -> Step:
    if not isinstance(step, JobStep) or step.job.key not in plans:
        return step
    key, plan = step.job.key, plans[step.job.key]
    try:
        job = render_shards(step.job, plan, paths_of(key))
    except UsageError as error:
        notes.append(f"{key} runs as a single job: {error}")
        return step
    notes.append(f"{key} runs in {len(plan.shards)} shards")
    # Plan and receipts are artifacts, so the container needs the agent.
    return replace(step, job=replace(job, mount_agent=True))
