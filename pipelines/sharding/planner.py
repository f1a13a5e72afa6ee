"""Whether and how a job is shared out. Pure; any doubt leaves the job as it is, with a reason."""

from collections import defaultdict
from dataclasses import dataclass

from gauntlet.pipelines.definitions.job import Job
from gauntlet.pipelines.sharding.estimate import Estimates, estimate
from gauntlet.pipelines.sharding.inventory import (
    Inventory,
    TestKey,
    inventory_doubt,
    keys_sha256,
    match_doubt,
)
from gauntlet.pipelines.sharding.packing import Packing, misfit, pack
from gauntlet.pipelines.sharding.plan_file import (
    PlannedCommand,
    Proof,
    Shard,
    ShardCommand,
    ShardPlan,
    prove,
)
from gauntlet.pipelines.sharding.shell import read_commands
from gauntlet.pipelines.timings import Timings


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardPolicy:
    """What shards must keep to. Times are in seconds.

    ``target_s``: the longest that a shard should take, from the start of its container on.
    ``overhead_s``: what a shard takes without a test, such as container, imports, collection.
    ``split_cost_s``: what each part of a split file adds, because its fixtures are set up again.
    ``least_measured``: the share of the estimated time that must rest on measured tests.
    """

    target_s: float = 1200.0
    overhead_s: float = 120.0
    split_cost_s: float = 30.0
    max_shards: int = 8
    least_measured: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardDecision:
    """The plan, or None where the job stays as it is; why, in either case."""

    plan: ShardPlan | None
    reason: str


def decide_sharding(
    job: Job, inventory: Inventory | None, timings: Timings, policy: ShardPolicy
) -> ShardDecision:
    """Decide for one job. Never raises for a doubt: the decision says it."""
    doubt = job_doubt(job)
    if doubt is None and inventory is not None:
        doubt = match_doubt(job, inventory)
    if doubt is not None:
        return ShardDecision(plan=None, reason=doubt)
    return decide_inventory(inventory, timings, policy)


def decide_inventory(
    inventory: Inventory | None, timings: Timings, policy: ShardPolicy
) -> ShardDecision:
    """Decide on an inventory alone, where the job that it came from is not at hand."""
    found = _decide(inventory, timings, policy)
    if isinstance(found, str):
        return ShardDecision(plan=None, reason=found)
    return ShardDecision(
        plan=found,
        reason=f"{len(found.shards)} shards keep {found.proof.tests} tests "
        f"({_minutes(found.estimated_s)}) within {_minutes(policy.target_s)} each",
    )


def job_doubt(job: Job) -> str | None:
    """Say why a job cannot be shared out whatever its tests are, or return None."""
    if job.parallelism is not None and job.parallelism > 1:
        return f"the job has {job.parallelism} shards of its own"
    if job.num_nodes is not None and job.num_nodes > 1:
        return f"the job runs on {job.num_nodes} nodes at once"
    if job.concurrency is not None:
        return f"the job's concurrency is limited to {job.concurrency}"
    if any("$" in str(value) for value in job.env.values()):
        return "the job's environment uses a variable"
    if any(name.startswith("BUILDKITE_PARALLEL_JOB") for name in job.env):
        return "the job's environment sets the number of a shard"
    return read_commands(job.commands).doubt


def _decide(inventory: Inventory | None, timings: Timings, policy: ShardPolicy) -> ShardPlan | str:
    """Make the plan, or say why there is none."""
    if inventory is None:
        return "there is no inventory of the job's tests"
    doubt = inventory_doubt(inventory)
    if doubt is not None:
        return doubt
    estimates = estimate(inventory.tests(), timings)
    packing = _pack(estimates, policy)
    if isinstance(packing, str):
        return packing
    plan = _plan(inventory, estimates, packing, policy)
    problems = prove(inventory, plan)
    return f"the plan is wrong: {problems[0]}" if problems else plan


def _pack(estimates: Estimates, policy: ShardPolicy) -> Packing | str:
    share = estimates.measured_share
    if share < policy.least_measured:
        return (
            f"only {share:.0%} of the estimated time was ever measured, "
            f"less than {policy.least_measured:.0%}"
        )
    room, split = _ms(policy.target_s - policy.overhead_s), _ms(policy.split_cost_s)
    if room <= 0:
        return (
            f"the overhead of {_minutes(policy.overhead_s)} leaves nothing of the target of "
            f"{_minutes(policy.target_s)}"
        )
    largest = misfit(estimates.ms, room=room, split=split)
    if largest is not None:
        part = "" if estimates.ms[largest] > room else " in a part of its file"
        seconds = (estimates.ms[largest] + (split if part else 0)) / 1000 + policy.overhead_s
        return (
            f"the target of {_minutes(policy.target_s)} is out of reach: {largest[1]} takes "
            f"{_minutes(seconds)} by itself{part}, overhead included"
        )
    packing = pack(estimates.ms, room=room, split=split, most=policy.max_shards)
    if packing is None:
        total = sum(estimates.ms.values()) / 1000
        return (
            f"{_minutes(total)} of tests need more than {policy.max_shards} shards to keep within "
            f"{_minutes(policy.target_s)} each"
        )
    if len(packing.bins) == 1:
        return f"one shard keeps within {_minutes(policy.target_s)}: nothing to share out"
    return packing


def _plan(
    inventory: Inventory, estimates: Estimates, packing: Packing, policy: ShardPolicy
) -> ShardPlan:
    keys = inventory.tests()
    return ShardPlan(
        schema_version=1,
        job=inventory.job,
        commands_sha256=inventory.commands_sha256,
        target_s=policy.target_s,
        overhead_s=policy.overhead_s,
        split_cost_s=policy.split_cost_s,
        estimated_s=sum(estimates.ms.values()) / 1000,
        measured_tests=len(estimates.measured),
        measured_share=estimates.measured_share,
        lower_bound=packing.bound,
        fewest=packing.fewest,
        proof=Proof(tests=len(keys), sha256=keys_sha256(keys)),
        commands=tuple(
            PlannedCommand(index=command.index, argv=command.argv)
            for command in sorted(inventory.commands, key=lambda command: command.index)
        ),
        shards=tuple(
            Shard(
                index=number,
                expected_s=round(load / 1000 + policy.overhead_s, 3),
                sha256=keys_sha256(tests),
                commands=_by_command(tests),
            )
            for number, (tests, load) in enumerate(zip(packing.bins, packing.loads, strict=True))
        ),
    )


def _by_command(tests: tuple[TestKey, ...]) -> tuple[ShardCommand, ...]:
    grouped: dict[int, list[str]] = defaultdict(list)
    for index, node_id in sorted(tests):
        grouped[index].append(node_id)
    return tuple(ShardCommand(index=i, node_ids=tuple(ids)) for i, ids in sorted(grouped.items()))


def _ms(seconds: float) -> int:
    """Whole milliseconds, rounded down: the room of a shard must not grow."""
    return int(seconds * 1000)


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.1f} min"
