"""How long rows are kept: data (``retention.yaml``), applied as each table's TTL."""

from collections import defaultdict
from functools import cache
from importlib.resources import as_file, files
from typing import Literal

from pydantic import Field

from gauntlet.core.ids import digest
from gauntlet.core.yaml_file import StrictModel, load_model


class Rule(StrictModel):
    """Rows of ``table`` go ``days`` after ``column``; ``where`` limits it to some of them."""

    table: str
    column: str
    days: int = Field(ge=1)
    where: str | None = None


class Retention(StrictModel):
    """All rules."""

    schema_version: Literal[1]
    rules: tuple[Rule, ...]

    @property
    def name(self) -> str:
        """What a store notes to know which rules it has."""
        return f"retention-{digest(self.model_dump(mode='json'))[:16]}"


@cache
def load_retention() -> Retention:
    """Read the rules that ship with this version."""
    with as_file(files("gauntlet.warehouse").joinpath("retention.yaml")) as path:
        return load_model(path, Retention)


def kept_days(table: str) -> int | None:
    """How long the last row of a table is kept; None: for good."""
    days = [rule.days for rule in load_retention().rules if rule.table == table]
    return max(days, default=None)


def whole_days(table: str) -> int | None:
    """How long every row of a table is kept; some may be kept longer. None: for good."""
    days = [rule.days for rule in load_retention().rules if rule.table == table]
    return min(days, default=None)


def ttl_statements(retention: Retention) -> list[str]:
    """Statements that give each table its TTL; what is there already is not rewritten at once."""
    by_table: dict[str, list[Rule]] = defaultdict(list)
    for rule in retention.rules:
        by_table[rule.table].append(rule)
    return [
        f"ALTER TABLE {table} MODIFY TTL {', '.join(map(_expression, rules))}"
        " SETTINGS materialize_ttl_after_modify = 0"
        for table, rules in by_table.items()
    ]


def _expression(rule: Rule) -> str:
    where = f" WHERE {rule.where}" if rule.where else ""
    return f"toDateTime({rule.column}) + toIntervalDay({rule.days}) DELETE{where}"
