"""Commands of test shards: collect, plan, render, verify, and learn the timings."""

import functools
import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

import click

from gauntlet.core.errors import ExitCode, UsageError
from gauntlet.core.files import write_atomic
from gauntlet.core.json_file import json_text
from gauntlet.pipelines import sources
from gauntlet.pipelines.definitions.files import read_files
from gauntlet.pipelines.definitions.job import Job
from gauntlet.pipelines.definitions.loader import parse_definitions
from gauntlet.pipelines.selection import unknown_job
from gauntlet.pipelines.sharding import report
from gauntlet.pipelines.sharding.inventory import load_inventory
from gauntlet.pipelines.sharding.plan_file import load_plan
from gauntlet.pipelines.sharding.planner import (
    ShardPolicy,
    decide_inventory,
    decide_sharding,
    job_doubt,
)
from gauntlet.pipelines.sharding.receipts import HISTORY, load_receipt, merge_timings
from gauntlet.pipelines.sharding.render import (
    PLUGIN,
    ShardPaths,
    collect_lines,
    render_shards,
    step_yaml,
)
from gauntlet.pipelines.sharding.verify import NamedReceipt, verify
from gauntlet.pipelines.timings import Timings, load_timings

_POLICY = ShardPolicy()
_FILE = click.Path(path_type=Path)
Command = TypeVar("Command", bound=Callable[..., Any])
_POLICY_OPTIONS = (
    click.option(
        "--target",
        type=click.FloatRange(min=0, min_open=True),
        metavar="MIN",
        help="Minutes that a shard may take.  [default: target_minutes of the job's group, "
        f"where --definitions has one, else {_POLICY.target_s / 60:g}]",
    ),
    click.option(
        "--max-shards",
        type=click.IntRange(min=1),
        default=_POLICY.max_shards,
        show_default=True,
        metavar="N",
    ),
    click.option(
        "--overhead",
        type=click.FloatRange(min=0),
        default=_POLICY.overhead_s,
        show_default=True,
        metavar="S",
        help="Seconds that a shard takes without a test.",
    ),
    click.option(
        "--split-cost",
        type=click.FloatRange(min=0),
        default=_POLICY.split_cost_s,
        show_default=True,
        metavar="S",
        help="Seconds that each part of a split file adds.",
    ),
)


def _definitions(command: Command) -> Command:
    """Add the options that say whose job definitions are meant."""
    for option in (
        click.option("--config", default=sources.CONFIG_PATH, show_default=True, metavar="FILE"),
        click.option(
            "--definitions", type=_FILE, required=True, metavar="DIR", help="The engine's tree."
        ),
    ):
        command = option(command)
    return command


def _plugin(command: Command) -> Command:
    """Add the options that say where the pytest plugin is, in the image."""
    for option in (
        click.option("--plugin-folder", metavar="DIR", help="Where a copy of its file lies."),
        click.option("--plugin", default=PLUGIN, show_default=True, metavar="MODULE"),
    ):
        command = option(command)
    return command


def _policy(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a policy; the command gets the policy itself."""

    @functools.wraps(command)
    def wrapped(
        *, target: float | None, max_shards: int, overhead: float, split_cost: float, **rest: object
    ) -> None:
        if not all(map(isfinite, (target or 0, overhead, split_cost))):
            msg = "--target, --overhead and --split-cost are finite numbers"
            raise UsageError(msg)
        policy = replace(
            _POLICY,
            max_shards=max_shards,
            overhead_s=overhead,
            split_cost_s=split_cost,
        )
        if target is not None:
            policy = replace(policy, target_s=target * 60)
        command(policy=policy, wants_group_target=target is None, **rest)

    for option in reversed(_POLICY_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


@click.group()
def shard() -> None:
    """Run one long job as the fewest shards; every test runs exactly once."""


@shard.command()
@click.argument("key")
@_definitions
@click.option(
    "--inventory",
    default="/tmp/gauntlet-inventory.json",  # noqa: S108 - in the container of one job
    show_default=True,
    metavar="PATH",
    help="Where the lines write it.",
)
@_plugin
def collect(
    key: str, definitions: Path, config: str, inventory: str, plugin: str, plugin_folder: str | None
) -> None:
    """Print shell lines that collect the tests of the job KEY, for the image that runs it.

    Exits 3 where the job cannot be shared out whatever its tests are.
    """
    job = _job(definitions, config, key)
    doubt = job_doubt(job)
    if doubt is not None:
        click.echo(f"the job stays as it is: {doubt}", err=True)
        click.get_current_context().exit(int(ExitCode.NOTHING_SELECTED))
    for line in collect_lines(job, inventory=inventory, plugin=plugin, plugin_folder=plugin_folder):
        click.echo(line)


@shard.command()
@click.option("--inventory", type=_FILE, required=True, metavar="FILE", help="From `collect`.")
@click.option("--timings", type=_FILE, required=True, metavar="FILE", help="Past durations.")
@click.option("--definitions", type=_FILE, metavar="DIR", help="Check the inventory's job there.")
@click.option("--config", default=sources.CONFIG_PATH, show_default=True, metavar="FILE")
@_policy
@click.option("--out", required=True, metavar="FILE|-", help="Where to write the plan.")
@click.option("--json", "as_json", is_flag=True, help="Print the decision as JSON.")
def plan(
    inventory: Path,
    timings: Path,
    definitions: Path | None,
    config: str,
    policy: ShardPolicy,
    wants_group_target: bool,
    out: str,
    as_json: bool,
) -> None:
    """Plan the fewest shards that keep within the target.

    Exits 3, and leaves no plan behind, where the job had better stay as it is.
    """
    if as_json and out == "-":
        msg = "--json and --out - both print on standard output"
        raise UsageError(msg, hint="write the plan to a file")
    collected, past = load_inventory(inventory), load_timings(timings)
    if definitions is None:
        decision = decide_inventory(collected, past, policy)
    else:
        job = _job(definitions, config, collected.job or "")
        if wants_group_target and job.target_minutes:
            policy = replace(policy, target_s=job.target_minutes * 60)
        decision = decide_sharding(job, collected, past, policy)
    for line in report.decision_lines(decision):
        click.echo(line, err=True)
    if as_json:
        click.echo(json.dumps(report.decision_record(decision), indent=1))
    if decision.plan is None:
        if out != "-":
            # A plan of an earlier build must not be taken for this one's.
            Path(out).unlink(missing_ok=True)
        click.get_current_context().exit(int(ExitCode.NOTHING_SELECTED))
    elif out == "-":
        click.echo(json_text(decision.plan), nl=False)
    else:
        write_atomic(Path(out), json_text(decision.plan))


@shard.command()
@click.argument("key")
@_definitions
@click.option("--plan", "plan_file", type=_FILE, metavar="FILE", help="None: the job as it is.")
@click.option("--plan-path", metavar="PATH", help="Where the plan lies when the job runs.")
@click.option("--receipt-path", metavar="PATH", help="Where receipts go; {shard} is the number.")
@click.option("--before", multiple=True, metavar="COMMAND", help="Runs first in each shard.")
@_plugin
def render(
    *,
    key: str,
    definitions: Path,
    config: str,
    plan_file: Path | None,
    plan_path: str | None,
    receipt_path: str | None,
    before: tuple[str, ...],
    plugin: str,
    plugin_folder: str | None,
) -> None:
    """Print a Buildkite pipeline with the job KEY alone, in the shards of a plan.

    Without --plan: as the job is, so that a pipeline can go on where there is no plan.
    """
    job = _job(definitions, config, key)
    if plan_file is not None:
        if plan_path is None:
            msg = "--plan needs --plan-path: where the plan lies when the job runs"
            raise UsageError(msg)
        paths = ShardPaths(
            plan=plan_path,
            receipt=receipt_path,
            plugin=plugin,
            plugin_folder=plugin_folder,
            before=before,
        )
        job = render_shards(job, load_plan(plan_file), paths)
    click.echo(step_yaml(job), nl=False)


@shard.command("verify")
@click.option("--plan", "plan_file", type=_FILE, required=True, metavar="FILE")
@click.argument("receipts", nargs=-1, required=True, type=_FILE)
def verify_command(plan_file: Path, receipts: tuple[Path, ...]) -> None:
    """Check RECEIPTS of all shards: every test ran exactly once. Exits 6 where not."""
    planned = load_plan(plan_file)
    sha256 = hashlib.sha256(plan_file.read_bytes()).hexdigest()
    found = verify(
        planned, sha256, [NamedReceipt(file=str(p), receipt=load_receipt(p)) for p in receipts]
    )
    for line in report.verification_lines(planned, found):
        click.echo(line, err=bool(found.problems))
    if found.problems:
        click.get_current_context().exit(int(ExitCode.NOT_QUALIFIED))


@shard.command("merge-timings")
@click.argument("receipts", nargs=-1, required=True, type=_FILE)
@click.option("--into", type=_FILE, required=True, metavar="FILE", help="Made where absent.")
@click.option(
    "--history",
    type=click.IntRange(min=1),
    default=HISTORY,
    show_default=True,
    metavar="N",
    help="Durations to keep of each test.",
)
def merge_timings_command(receipts: tuple[Path, ...], into: Path, history: int) -> None:
    """Add the durations in RECEIPTS to a timings file."""
    past = load_timings(into) if into.exists() else Timings(schema_version=1)
    merged = merge_timings(past, map(load_receipt, receipts), history=history)
    write_atomic(into, json_text(merged))
    new = len(merged.tests.keys() - past.tests.keys())
    click.echo(f"{into}: {len(merged.tests)} tests, {new} of them new", err=True)


def _job(definitions: Path, config: str, key: str) -> Job:
    source = sources.open_source(definitions, config=config)
    jobs = {job.key: job for job in parse_definitions(read_files(source.root, config)).jobs}
    if key not in jobs:
        raise unknown_job(key, jobs)
    return jobs[key]
