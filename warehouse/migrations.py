"""Numbered SQL migrations: found as package data, applied in order, recorded."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from gauntlet.core.errors import UsageError

_NAME = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema."""

    number: int
    name: str
    statements: tuple[str, ...]


def load_migrations() -> tuple[Migration, ...]:
    """Return the migrations that ship with this version, in order."""
    found = []
    for entry in files("gauntlet.warehouse").joinpath("schema").iterdir():
        match = _NAME.fullmatch(entry.name)
        if match:
            statements = split_statements(entry.read_text(encoding="utf-8"))
            found.append(Migration(int(match[1]), match[2], statements))
    return tuple(sorted(found, key=lambda migration: migration.number))


def split_statements(sql: str) -> tuple[str, ...]:
    """Split a file into statements at semicolons that end a line; comment lines are dropped."""
    lines = [line for line in sql.splitlines() if not line.lstrip().startswith("--")]
    parts = re.split(r";\s*(?:\n|$)", "\n".join(lines))
    return tuple(part.strip() for part in parts if part.strip())


def pending(known: Sequence[Migration], applied: Sequence[int]) -> tuple[Migration, ...]:
    """Migrations still to apply.

    Raises UsageError where the store is newer than this program: a downgrade is refused.
    """
    newest = max((migration.number for migration in known), default=0)
    unknown = sorted(number for number in applied if number > newest)
    if unknown:
        msg = f"the warehouse has migration {unknown[-1]}, this program knows up to {newest}"
        raise UsageError(msg, hint="upgrade gauntlet, or open another warehouse")
    return tuple(migration for migration in known if migration.number not in set(applied))
