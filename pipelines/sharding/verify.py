"""Did the shards together run every test exactly once? Their receipts say."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gauntlet.core.errors import Problem
from gauntlet.pipelines.sharding.inventory import TestKey
from gauntlet.pipelines.sharding.plan_file import ShardPlan, named, self_problems
from gauntlet.pipelines.sharding.receipts import Receipt


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedReceipt:
    """A receipt and the file that it was read from."""

    file: str
    receipt: Receipt


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What is wrong, and how many tests ran. ``unknown`` are tests that no plan foresaw."""

    problems: tuple[Problem, ...]
    ran: int
    unknown: tuple[TestKey, ...]


def verify(plan: ShardPlan, plan_sha256: str, receipts: Sequence[NamedReceipt]) -> Verification:
    """Compare a plan with the receipts of its shards; ``plan_sha256`` is that of the plan's file.

    Whether tests passed is not asked here: the shards' exit codes say that.
    """
    problems = list(self_problems(plan))
    problems += _set_problems(plan, plan_sha256, receipts)
    ran: Counter[TestKey] = Counter()
    unknown: set[TestKey] = set()
    cut_off: set[TestKey] = set()
    for receipt in (named_receipt.receipt for named_receipt in receipts):
        for command in receipt.commands:
            unknown |= {(command.index, node_id) for node_id in command.unknown}
            for result in command.results:
                ran[command.index, result.node_id] += result.runs
                if result.outcome == "unfinished":
                    cut_off.add((command.index, result.node_id))
    expected = set(plan.tests()) | unknown
    findings = (
        ("never ran", expected - ran.keys()),
        ("began but never ended", cut_off),
        ("ran more than once", {key for key, count in ran.items() if count > 1}),
        ("ran, but no plan holds them", ran.keys() - expected),
    )
    problems += [
        Problem(file="receipts", key="results", message=f"{named(keys)} {what}")
        for what, keys in findings
        if keys
    ]
    return Verification(problems=tuple(problems), ran=len(ran), unknown=tuple(sorted(unknown)))


def _set_problems(
    plan: ShardPlan, plan_sha256: str, receipts: Sequence[NamedReceipt]
) -> Iterator[Problem]:
    """Say which receipts are absent, double, or of something else."""
    count = len(plan.shards)
    seen: dict[int, str] = {}
    for item in sorted(receipts, key=lambda item: item.file):
        receipt = item.receipt
        if receipt.plan_sha256 != plan_sha256:
            message = "is the receipt of another plan"
            yield Problem(file=item.file, key="plan_sha256", message=message)
        if receipt.shards != count or receipt.shard >= count:
            message = f"is shard {receipt.shard} of {receipt.shards}, but the plan has {count}"
            yield Problem(file=item.file, key="shard", message=message)
        elif receipt.shard in seen:
            message = f"shard {receipt.shard} has a second receipt, {seen[receipt.shard]}"
            yield Problem(file=item.file, key="shard", message=message)
        seen.setdefault(receipt.shard, item.file)
        yield from _command_problems(plan, item)
    for absent in sorted(set(range(count)) - seen.keys()):
        yield Problem(file="receipts", key="shard", message=f"shard {absent} has no receipt")


def _command_problems(plan: ShardPlan, item: NamedReceipt) -> Iterator[Problem]:
    """Say which pytest calls of a shard are absent, or saw other tests than they should."""
    planned = {command.index for command in plan.commands}
    found = Counter(command.index for command in item.receipt.commands)
    for index in sorted(planned - found.keys()):
        yield Problem(file=item.file, key="commands", message=f"call {index + 1} never ended")
    for index in sorted(found.keys() - planned) + sorted(i for i in found if found[i] > 1):
        yield Problem(file=item.file, key="commands", message=f"call {index + 1} is one too many")
    for command in item.receipt.commands:
        if command.missing:
            keys = [(command.index, node_id) for node_id in command.missing]
            message = f"{named(keys)} not collected"
            yield Problem(file=item.file, key="missing", message=message)
