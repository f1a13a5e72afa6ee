"""Numbered SQL migrations: found as package data, applied in order, recorded.

A migration says in its first line from which version on a program can work with its result
(``-- reads-from: 1``). Most only add tables and columns, so that programs of the version before
keep reading and writing while machines are upgraded one by one; where one does not, older programs
are refused.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from gauntlet.core.errors import UsageError

_NAME = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")
_READS_FROM = re.compile(r"\A-- reads-from: (\d+)\n")
_CREATE = re.compile(r"CREATE TABLE (?:IF NOT EXISTS )?(\w+)")
_ENGINE = re.compile(r"ENGINE = (\w*MergeTree)(?:\(([^)]*)\))?")


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema."""

    number: int
    name: str
    statements: tuple[str, ...]
    reads_from: int


@dataclass(frozen=True, slots=True)
class Applied:
    """One migration that a store has."""

    number: int
    name: str
    reads_from: int


def load_migrations() -> tuple[Migration, ...]:
    """Return the migrations that ship with this version, in order."""
    found = []
    for entry in files("gauntlet.warehouse").joinpath("schema").iterdir():
        match = _NAME.fullmatch(entry.name)
        if match:
            found.append(read_migration(int(match[1]), match[2], entry.read_text("utf-8")))
    return tuple(sorted(found, key=lambda migration: migration.number))


def read_migration(number: int, name: str, sql: str) -> Migration:
    """Read one migration. Raises UsageError where it does not say which programs it suits."""
    header = _READS_FROM.match(sql)
    if header is None:
        raise UsageError(f"migration {number:04}_{name}: the first line must be -- reads-from: N")
    return Migration(number, name, split_statements(sql), int(header[1]))


def split_statements(sql: str) -> tuple[str, ...]:
    """Split a file into statements at semicolons that end a line; comment lines are dropped."""
    lines = [line for line in sql.splitlines() if not line.lstrip().startswith("--")]
    parts = re.split(r";\s*(?:\n|$)", "\n".join(lines))
    return tuple(part.strip() for part in parts if part.strip())


def pending(known: Sequence[Migration], applied: Sequence[Applied]) -> tuple[Migration, ...]:
    """Migrations still to apply.

    Raises UsageError where the store has one that programs of this version cannot work with.
    """
    newest = max((migration.number for migration in known), default=0)
    for migration in sorted(applied, key=lambda each: each.number):
        if migration.number > newest and migration.reads_from > newest:
            msg = (
                f"the warehouse has migration {migration.number} ({migration.name}), for programs"
                f" that know {migration.reads_from} or more; this one knows up to {newest}"
            )
            raise UsageError(msg, hint="upgrade gauntlet, or open another warehouse")
    done = {migration.number for migration in applied}
    return tuple(migration for migration in known if migration.number not in done)


def check_target(target: int, applied: Sequence[Applied]) -> None:
    """Raise UsageError where migrating to ``target`` would take something back."""
    newest = max((migration.number for migration in applied), default=0)
    if target < newest:
        msg = f"the warehouse is at migration {newest}; going back to {target} is not possible"
        raise UsageError(msg, hint="restore a backup into a new warehouse instead")


def on_cluster(statement: str, cluster: str | None) -> str:
    """Turn a CREATE TABLE for one node into one for a replicated cluster; others stay.

    The path is ClickHouse's default for replicated tables, filled in by each server's macros.
    """
    create = _CREATE.match(statement)
    if cluster is None or create is None:
        return statement
    statement = statement.replace(create[0], f"{create[0]} ON CLUSTER '{cluster}'", 1)

    def replicated(engine: re.Match[str]) -> str:
        arguments = ["'/clickhouse/tables/{shard}/{database}/{table}'", "'{replica}'"]
        if engine[2]:
            arguments.append(engine[2])
        return f"ENGINE = Replicated{engine[1]}({', '.join(arguments)})"

    statement = _ENGINE.sub(replicated, statement, count=1)
    return statement.replace(
        "non_replicated_deduplication_window", "replicated_deduplication_window"
    )
