"""Named queries: one SQL file each, with a comment that says what question it answers.

The comment's first line is the question; ``@name: words [= default]`` lines say what a parameter
means and what it is where none is given.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from gauntlet.core.errors import UsageError, unknown_name

_PARAMETER = re.compile(r"\{(\w+):\s*([\w()' ,]+)\}")
_PARAMETER_LINE = re.compile(r"@(\w+): (.+?)(?: =(?: (.*))?)?$")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: its ClickHouse type, what it means, its default as text (None: required)."""

    name: str
    type: str
    meaning: str
    default: str | None


@dataclass(frozen=True, slots=True)
class Query:
    """A question, its SQL, and the parameters it takes."""

    name: str
    question: str
    sql: str
    parameters: tuple[Parameter, ...]

    def values(self, given: Mapping[str, object]) -> dict[str, object]:
        """Complete ``given`` by defaults. Raises UsageError for unknown and missing ones."""
        names = [parameter.name for parameter in self.parameters]
        for name in given:
            if name not in names:
                raise unknown_name(f"parameter of query {self.name}", name, names)
        values = {p.name: p.default for p in self.parameters if p.default is not None} | dict(given)
        missing = sorted(set(names) - set(values))
        if missing:
            raise UsageError(f"query {self.name} needs the parameters {', '.join(missing)}")
        return values


def query_names() -> list[str]:
    """Names of all queries that ship with this version, sorted."""
    folder = files("gauntlet.warehouse").joinpath("queries")
    return sorted(
        entry.name.removesuffix(".sql") for entry in folder.iterdir() if entry.name.endswith(".sql")
    )


@cache
def load_query(name: str) -> Query:
    """Read one named query. Raises UsageError where there is none of that name."""
    if name not in query_names():
        raise unknown_name("query", name, query_names())
    text = files("gauntlet.warehouse").joinpath("queries", f"{name}.sql").read_text("utf-8")
    return read_query(name, text)


def read_query(name: str, text: str) -> Query:
    """Parse the text of a query file."""
    comments = [line.removeprefix("--").strip() for line in text.splitlines() if line[:2] == "--"]
    said = {}
    for line in comments:
        if match := _PARAMETER_LINE.match(line):
            said[match[1]] = (match[2], (match[3] or "") if " =" in line else None)
    question = " ".join(line for line in comments if not line.startswith("@"))
    types = dict(_PARAMETER.findall(text))
    parameters = tuple(
        Parameter(each, kind, *said.get(each, ("", None))) for each, kind in types.items()
    )
    return Query(name, question, text, parameters)
