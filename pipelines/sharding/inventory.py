"""What a job's pytest calls collect, as our pytest plugin wrote it in the test image."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from gauntlet.core.json_file import load_json_model
from gauntlet.core.yaml_file import StrictModel
from gauntlet.pipelines.definitions.job import Job
from gauntlet.pipelines.sharding.shell import read_commands

# An address in an id changes from process to process, and with it the id.
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")

TestKey = tuple[int, str]
"""A test of a job: which pytest call it belongs to (from 0), and its id there.

Two calls may run the same id under different settings, so the id alone does not name a test.
"""

Index = Annotated[int, Field(strict=True, ge=0)]


class CollectedCommand(StrictModel):
    """One pytest call: its number among the job's calls, its arguments, the ids it collects."""

    index: Index
    argv: tuple[str, ...]
    node_ids: tuple[str, ...]


class Inventory(StrictModel):
    """Every test of one job. The job is None where somebody collected by hand."""

    schema_version: Literal[1]
    job: str | None = None
    commands_sha256: str | None = None
    commands: tuple[CollectedCommand, ...]

    def tests(self) -> tuple[TestKey, ...]:
        """All tests, sorted; a test that was collected twice stands here twice."""
        keys = ((c.index, node_id) for c in self.commands for node_id in c.node_ids)
        return tuple(sorted(keys))


def load_inventory(path: Path) -> Inventory:
    """Read an inventory. Raises ConfigError where it is none."""
    return load_json_model(path, Inventory)


def commands_sha256(job: Job) -> str:
    """Fingerprint of what decides which tests a job collects: where, with what, which commands."""
    return _sha256([job.working_dir, sorted(map(list, job.env.items())), list(job.commands)])


def keys_sha256(keys: Iterable[TestKey]) -> str:
    """Fingerprint of a set of tests, whatever their order. The plugin computes the same."""
    return _sha256(sorted([index, node_id] for index, node_id in keys))


def inventory_doubt(inventory: Inventory) -> str | None:
    """Say why an inventory cannot be trusted to name every test once, or return None."""
    indices = sorted(command.index for command in inventory.commands)
    if not indices:
        return "the inventory holds no pytest call"
    if indices != list(range(len(indices))):
        return f"the inventory holds the pytest calls {indices}, not one after the other from 0"
    for command in inventory.commands:
        if not command.node_ids:
            return f"pytest call {command.index + 1} collects no test"
    key, count = Counter(inventory.tests()).most_common(1)[0]
    if count > 1:
        return f"pytest call {key[0] + 1} collects {key[1]!r} {count} times"
    for _, node_id in inventory.tests():
        if _ADDRESS.search(node_id):
            return f"the id {node_id!r} holds an address, which is another in every process"
    return None


def match_doubt(job: Job, inventory: Inventory) -> str | None:
    """Say why an inventory is not that of a job, or return None."""
    if inventory.job != job.key:
        return f"the inventory is that of {inventory.job!r}, not of {job.key!r}"
    if inventory.commands_sha256 != commands_sha256(job):
        return "the inventory was collected with other commands, environment or working directory"
    calls = read_commands(job.commands).pytest
    if len(calls) != len(inventory.commands):
        return f"the job has {len(calls)} pytest calls, the inventory {len(inventory.commands)}"
    collected = {command.index: command.argv for command in inventory.commands}
    for index, (_, arguments) in enumerate(calls):
        if collected.get(index) != arguments:
            return f"pytest call {index + 1} got other arguments when it was collected"
    return None


def _sha256(value: object) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=True).encode()).hexdigest()
