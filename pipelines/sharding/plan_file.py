"""The plan of a job's shards, as it is kept on disk, and the proof that it loses no test."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from gauntlet.core.errors import Problem
from gauntlet.core.json_file import load_json_model
from gauntlet.core.yaml_file import StrictModel
from gauntlet.pipelines.sharding.inventory import Index, Inventory, TestKey, keys_sha256
from gauntlet.pipelines.sharding.packing import Fewest
from gauntlet.pipelines.timings import Seconds

Share = Annotated[float, Field(strict=True, ge=0, le=1)]
_SHOWN = 3


class ShardCommand(StrictModel):
    """The tests of one pytest call that a shard runs; a call without any is left out."""

    index: Index
    node_ids: tuple[str, ...]


class Shard(StrictModel):
    """One shard; ``expected_s`` is what it should take, overhead included."""

    index: Index
    expected_s: Seconds
    sha256: str
    commands: tuple[ShardCommand, ...]

    def tests(self) -> tuple[TestKey, ...]:
        """All tests of the shard."""
        return tuple((c.index, node_id) for c in self.commands for node_id in c.node_ids)


class PlannedCommand(StrictModel):
    """One pytest call of the job: its arguments when its tests were collected."""

    index: Index
    argv: tuple[str, ...]


class Proof(StrictModel):
    """How many tests the shards hold together, and the fingerprint of their sorted ids."""

    tests: Index
    sha256: str


class ShardPlan(StrictModel):
    """Which shard runs which tests. All times are in seconds.

    ``lower_bound`` is a number of shards below which nothing can get; ``fewest`` says whether
    the plan is known to have the fewest shards. ``measured_tests`` were measured before, and make
    up ``measured_share`` of the estimated time; the others are guesses.
    """

    schema_version: Literal[1]
    job: str | None
    commands_sha256: str | None
    target_s: Seconds
    overhead_s: Seconds
    split_cost_s: Seconds
    estimated_s: Seconds
    measured_tests: Index
    measured_share: Share
    lower_bound: Index
    fewest: Fewest
    proof: Proof
    commands: tuple[PlannedCommand, ...]
    shards: Annotated[tuple[Shard, ...], Field(min_length=1)]

    @property
    def provably_fewest(self) -> bool:
        """Whether no plan for the same target and estimates has fewer shards."""
        return self.fewest != "not proved"

    def tests(self) -> tuple[TestKey, ...]:
        """All tests of all shards, sorted; one that is planned twice stands here twice."""
        return tuple(sorted(key for shard in self.shards for key in shard.tests()))


def load_plan(path: Path) -> ShardPlan:
    """Read a plan. Raises ConfigError where it is none."""
    return load_json_model(path, ShardPlan)


def prove(inventory: Inventory, plan: ShardPlan) -> tuple[Problem, ...]:
    """Check that every collected test is in exactly one shard, and nothing else is.

    Returns what is wrong; no problem is the proof.
    """
    wanted, planned = Counter(inventory.tests()), Counter(plan.tests())
    findings = (
        ("collected more than once", [key for key, count in wanted.items() if count > 1]),
        ("in no shard", wanted.keys() - planned.keys()),
        ("in a shard but not in the inventory", planned.keys() - wanted.keys()),
    )
    problems = [_problem("shards", f"{named(keys)} {what}") for what, keys in findings if keys]
    if (plan.job, plan.commands_sha256) != (inventory.job, inventory.commands_sha256):
        problems.append(_problem("job", "the inventory is that of another job"))
    collected = {command.index: command.argv for command in inventory.commands}
    if {command.index: command.argv for command in plan.commands} != collected:
        problems.append(_problem("commands", "the inventory has other pytest calls"))
    return (*problems, *self_problems(plan))


def self_problems(plan: ShardPlan) -> tuple[Problem, ...]:
    """Check a plan against the facts that it holds about itself."""
    problems = []
    if [shard.index for shard in plan.shards] != list(range(len(plan.shards))):
        problems.append(_problem("shards", "shards are not numbered from 0"))
    keys = plan.tests()
    twice = [key for key, count in Counter(keys).items() if count > 1]
    if twice:
        problems.append(_problem("shards", f"{named(twice)} in shards more than once"))
    if plan.proof.tests != len(keys):
        problems.append(_problem("proof.tests", f"says {plan.proof.tests}, counted {len(keys)}"))
    if plan.proof.sha256 != keys_sha256(keys):
        problems.append(_problem("proof.sha256", "is not that of the shards' tests"))
    problems += [
        _problem(f"shards[{number}].sha256", "is not that of its tests")
        for number, shard in enumerate(plan.shards)
        if shard.sha256 != keys_sha256(shard.tests())
    ]
    return tuple(problems)


def _problem(key: str, message: str) -> Problem:
    return Problem(file="shard plan", key=key, message=message)


def named(keys: Iterable[TestKey]) -> str:
    """Count tests and name the first few."""
    keys = sorted(keys)
    names = ", ".join(f"{node_id} of call {index + 1}" for index, node_id in keys[:_SHOWN])
    more = ", ..." if len(keys) > _SHOWN else ""
    return f"{len(keys)} test(s) ({names}{more})"
