"""What shards say about themselves after they ran, and the timings to be learnt from it."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from gauntlet.core.json_file import load_json_model
from gauntlet.core.yaml_file import StrictModel
from gauntlet.pipelines.sharding.inventory import Index
from gauntlet.pipelines.timings import Seconds, Timings

HISTORY = 20
"""How many durations of one test are kept; older ones say little about the tests of today."""

Outcome = Literal["passed", "failed", "skipped", "xfailed", "xpassed", "unfinished"]
# A test that failed, or was cut off, did not take the time that it takes.
_TELLING = frozenset({"passed", "skipped", "xfailed", "xpassed"})


class Result(StrictModel):
    """One test that ran: ``seconds`` with set-up and tear-down; ``runs`` is how often it began."""

    node_id: str
    outcome: Outcome
    seconds: Seconds
    runs: Annotated[int, Field(strict=True, ge=1)]


class ReceiptCommand(StrictModel):
    """One pytest call of a shard.

    ``selected``: ids that were this shard's to run. ``missing``: ids of its plan that were not
    collected. ``unknown``: collected ids that no shard's plan holds, whoever runs them.
    """

    index: Index
    argv: tuple[str, ...]
    selected: tuple[str, ...]
    missing: tuple[str, ...]
    unknown: tuple[str, ...]
    results: tuple[Result, ...]
    exit_status: int


class Receipt(StrictModel):
    """All pytest calls of one shard; the plan's hash is None where tests ran without a plan."""

    schema_version: Literal[1]
    job: str | None
    plan_sha256: str | None
    shard: Index
    shards: Annotated[int, Field(strict=True, ge=1)]
    commands: tuple[ReceiptCommand, ...]


def load_receipt(path: Path) -> Receipt:
    """Read a receipt. Raises ConfigError where it is none."""
    return load_json_model(path, Receipt)


def merge_timings(
    timings: Timings, receipts: Iterable[Receipt], *, history: int = HISTORY
) -> Timings:
    """Append what the receipts measured, and keep the last ``history`` durations of each test."""
    tests: dict[str, Sequence[float]] = dict(timings.tests)
    for receipt in receipts:
        for command in receipt.commands:
            for result in command.results:
                if result.outcome in _TELLING:
                    past = (*tests.get(result.node_id, ()), result.seconds)
                    tests[result.node_id] = past[-history:]
    return Timings(
        schema_version=1,
        jobs=timings.jobs,
        tests={name: tuple(tests[name]) for name in sorted(tests)},
    )
