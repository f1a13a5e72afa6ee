"""Series of numbers from text: a JSON list, a column of CSV, or a line each."""

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator

from gauntlet.core.errors import ConfigError, Problem, UsageError, unknown_name

_MISSING = frozenset({"", "nan", "null", "none", "na", "n/a"})
_MOST_PROBLEMS = 20


def read_numbers(text: str, *, name: str, column: str | None = None) -> list[float]:
    """Read a series in order of time; NaN where a value is missing.

    ``column`` names a column of CSV. NaN, null, NA and nothing are missing values. Raises
    ConfigError with file, line and text of what is no finite number, UsageError for an unknown
    column and where several columns leave open which is meant.
    """
    if column is None and text.lstrip().startswith("["):
        return _checked(_of_json(text, name), name)
    if column is not None:
        return _checked(_of_csv(text, name, column), name)
    lines = text.splitlines()
    if lines and "," in lines[0]:
        names = next(csv.reader(lines[:1]))
        msg = f"{name}:1: {len(names)} columns: {', '.join(names)}"
        raise UsageError(msg, hint="--column NAME says which")
    return _checked(enumerate(lines, start=1), name)


def _of_json(text: str, name: str) -> Iterator[tuple[int, object]]:
    """Items with their lines; a list on one line has them all on that."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        problem = Problem(file=name, line=error.lineno, message=f"JSON: {error.msg}")
        raise ConfigError([problem]) from error
    spread = len(value) > 1 and text.strip().count("\n") == len(value) + 1
    first = text[: text.index("[")].count("\n") + 1
    for index, item in enumerate(value):
        yield (first + 1 + index if spread else first), item


def _of_csv(text: str, name: str, column: str) -> Iterator[tuple[int, object]]:
    reader = csv.DictReader(io.StringIO(text))
    names = [each.strip() for each in reader.fieldnames or ()]
    if column not in names:
        raise unknown_name(f"column of {name}:", column, names)
    reader.fieldnames = names
    for row in reader:
        value = row[column]
        if value is None:
            problem = Problem(file=name, line=reader.line_num, key=column, message="the row is cut")
            raise ConfigError([problem])
        yield reader.line_num, value


def _checked(items: Iterable[tuple[int, object]], name: str) -> list[float]:
    found: list[float] = []
    problems: list[Problem] = []
    for line, item in items:
        value = _number(item)
        if value is None:
            message = f"item {len(found)} is no finite number"
            problems.append(Problem(file=name, line=line, message=message, value=repr(item)[:60]))
        found.append(math.nan if value is None else value)
    if problems:
        hint = "a missing value is an empty line, NaN, null or NA"
        raise ConfigError(problems[:_MOST_PROBLEMS], hint=hint)
    return found


def _number(item: object) -> float | None:
    """The number, NaN where it is missing, None where it is none."""
    if item is None or (isinstance(item, str) and item.strip().lower() in _MISSING):
        return math.nan
    if isinstance(item, bool) or not isinstance(item, str | int | float):
        return None
    try:
        value = float(item)
    except ValueError:
        return None
    return None if math.isinf(value) else value
