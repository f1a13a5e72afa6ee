"""Named queries: one SQL file each, with a comment that says what question it answers."""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from gauntlet.core.errors import unknown_name

_PARAMETER = re.compile(r"\{(\w+):\s*[\w()]+\}")


@dataclass(frozen=True, slots=True)
class Query:
    """A question, its SQL, and the parameters it takes."""

    name: str
    question: str
    sql: str
    parameters: tuple[str, ...]


def query_names() -> list[str]:
    """Names of all queries that ship with this version, sorted."""
    folder = files("gauntlet.warehouse").joinpath("sql")
    return sorted(
        entry.name.removesuffix(".sql") for entry in folder.iterdir() if entry.name.endswith(".sql")
    )


@cache
def load_query(name: str) -> Query:
    """Read one named query. Raises UsageError where there is none of that name."""
    if name not in query_names():
        raise unknown_name("query", name, query_names())
    text = files("gauntlet.warehouse").joinpath("sql", f"{name}.sql").read_text(encoding="utf-8")
    comments = [line.removeprefix("--").strip() for line in text.splitlines() if line[:2] == "--"]
    parameters = tuple(dict.fromkeys(_PARAMETER.findall(text)))
    return Query(name, " ".join(comments), text, parameters)
