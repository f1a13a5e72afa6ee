"""Shards in words and figures, for people at a terminal and for scripts."""

from collections.abc import Iterator
from typing import Any

from gauntlet.pipelines.sharding.estimate import Place
from gauntlet.pipelines.sharding.plan_file import ShardPlan, named
from gauntlet.pipelines.sharding.planner import ShardDecision
from gauntlet.pipelines.sharding.verify import Verification

_FEWEST = {
    "lower bound": "provably the fewest: no plan gets below {bound}",
    "search": "provably the fewest: every plan with one less was searched",
    "not proved": "perhaps not the fewest: no plan gets below {bound}",
}


def decision_lines(decision: ShardDecision) -> Iterator[str]:
    """Say what was decided; for a plan, a table of its shards (minutes hold the overhead)."""
    plan = decision.plan
    if plan is None:
        yield f"the job stays as it is: {decision.reason}"
        return
    yield decision.reason
    yield f"{'shard':>5}  {'tests':>6}  {'files':>6}  {'minutes':>7}"
    for shard in plan.shards:
        keys = shard.tests()
        files = len({(index, Place.of(node_id).file) for index, node_id in keys})
        minutes = shard.expected_s / 60
        yield f"{shard.index:>5}  {len(keys):>6}  {files:>6}  {minutes:>7.1f}"
    yield _FEWEST[plan.fewest].format(bound=plan.lower_bound)
    yield (
        f"measured: {plan.measured_tests} of {plan.proof.tests} tests, "
        f"{plan.measured_share:.0%} of the estimated time"
    )


def decision_record(decision: ShardDecision) -> dict[str, Any]:
    """The decision as plain data, without the tests' names."""
    plan = decision.plan
    record: dict[str, Any] = {"sharded": plan is not None, "reason": decision.reason}
    if plan is not None:
        record |= plan.model_dump(mode="json", exclude={"commands": True, "shards": True})
        record["provably_fewest"] = plan.provably_fewest
        record["shards"] = [
            {"index": shard.index, "tests": len(shard.tests()), "expected_s": shard.expected_s}
            for shard in plan.shards
        ]
    return record


def verification_lines(plan: ShardPlan, found: Verification) -> Iterator[str]:
    """Say what is wrong, or that nothing is."""
    for problem in found.problems:
        yield f"error: {problem}"
    if found.unknown:
        yield f"note: {named(found.unknown)} not planned: added since"
    if not found.problems:
        yield f"{found.ran} tests ran on {len(plan.shards)} shards, each exactly once"
