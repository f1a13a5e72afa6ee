"""JSON Lines in and out, with every bad line named."""

from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from gauntlet.core.errors import ConfigError, Problem
from gauntlet.core.yaml_file import StrictModel, key_text, read_text

RowT = TypeVar("RowT", bound=StrictModel)
_MOST_PROBLEMS = 10


def read_jsonl(path: Path, model: type[RowT]) -> list[RowT]:
    """Read one typed row per line; blank lines are passed over.

    Raises one ConfigError naming the bad lines (the first ten), or a file without rows.
    """
    rows: list[RowT] = []
    problems: list[Problem] = []
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            rows.append(model.model_validate_json(line))
        except ValidationError as error:
            first = error.errors()[0]
            key = key_text(first["loc"]) or None
            problems.append(Problem(file=str(path), line=number, key=key, message=first["msg"]))
    if not rows and not problems:
        problems.append(Problem(file=str(path), message="the file has no rows"))
    if problems:
        raise ConfigError(problems[:_MOST_PROBLEMS])
    return rows


def dump_jsonl(rows: Iterable[StrictModel]) -> str:
    """Serialise rows, one JSON object a line."""
    return "".join(row.model_dump_json() + "\n" for row in rows)
