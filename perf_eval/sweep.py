"""Sweeps: which values are tried together, and how each combination is called."""

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Annotated, Self

from pydantic import Field, JsonValue, model_validator

from gauntlet.perf_eval.overrides import PathError, split_path
from gauntlet.perf_eval.part import RecipePart

Values = Annotated[tuple[JsonValue, ...], Field(min_length=1)]
Combination = dict[str, JsonValue]
Row = Annotated[Combination, Field(min_length=1)]
VARIANT_HEADS = ("engine", "topology", "hardware")
_UNSAFE = re.compile(r"[^A-Za-z0-9._+-]+")


class SweepPart(RecipePart):
    """One of ``grid`` (every value with every other), ``zip`` (side by side) and ``rows``."""

    grid: Annotated[dict[str, Values], Field(min_length=1)] | None = None
    """Path to values; every combination is tried."""
    zip: Annotated[dict[str, Values], Field(min_length=1)] | None = None
    """Path to values; the first with the first, the second with the second."""
    rows: Annotated[tuple[Row, ...], Field(min_length=1)] | None = None
    """Combinations written out, each from path to value."""

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if [self.grid, self.zip, self.rows].count(None) != 2:
            msg = "give one of grid, zip and rows"
            raise ValueError(msg)
        if self.zip is not None:
            lengths = {path: len(values) for path, values in self.zip.items()}
            if len(set(lengths.values())) > 1:
                listed = ", ".join(f"{path} has {length}" for path, length in lengths.items())
                msg = f"zipped values go side by side, so they are equally many: {listed}"
                raise ValueError(msg)
        if self.rows is not None and len({frozenset(row) for row in self.rows}) > 1:
            msg = "every row gives the same paths"
            raise ValueError(msg)
        return self

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths in the order in which they are written."""
        return tuple(self.grid or self.zip or (self.rows or ({},))[0])

    @property
    def size(self) -> int:
        """How many combinations this part has."""
        if self.grid is not None:
            return math.prod(len(values) for values in self.grid.values())
        if self.zip is not None:
            return len(next(iter(self.zip.values())))
        return len(self.rows or ())

    def combinations(self) -> list[Combination]:
        """Every combination; in a grid the last path changes fastest."""
        if self.grid is not None:
            keys, columns = tuple(self.grid), tuple(self.grid.values())
            return [dict(zip(keys, values, strict=True)) for values in product(*columns)]
        if self.zip is not None:
            keys, columns = tuple(self.zip), tuple(self.zip.values())
            return [dict(zip(keys, values, strict=True)) for values in zip(*columns, strict=True)]
        return [dict(row) for row in self.rows or ()]


def combination_count(sweep: Sequence[SweepPart]) -> int:
    """How many combinations a sweep has; 1 without one."""
    return math.prod(part.size for part in sweep)


def combinations(sweep: Sequence[SweepPart]) -> list[Combination]:
    """Every combination of all parts; one empty combination without a sweep."""
    rows = product(*(part.combinations() for part in sweep))
    return [{path: value for part in row for path, value in part.items()} for row in rows]


def group_of(path: str) -> str:
    """What a path belongs to: ``variant`` (a new server) or ``workloads.NAME`` (a point on it).

    Raises PathError for what cannot be swept.
    """
    parts = split_path(path)
    if parts[0] in VARIANT_HEADS and len(parts) > 1:
        return "variant"
    if parts[0] == "workloads" and len(parts) > 2:
        if parts[2] == "name":
            msg = "the name says which workload it is and cannot be swept"
            raise PathError(msg)
        return ".".join(parts[:2])
    msg = "only what is below engine, topology, hardware and workloads.NAME can be swept"
    raise PathError(msg)


class Labels:
    """Short names of combinations, such as ``concurrency=16``, for one group of paths."""

    def __init__(self, sweep: Sequence[SweepPart], belongs: Callable[[str], bool]) -> None:
        told = [(part, [path for path in part.paths if belongs(path)]) for part in sweep]
        self._names = _short_names([path for _, paths in told for path in paths])
        self._paths = [path for part, paths in told for path in _telling(part, paths)]
        self._texts = {
            path: _value_texts(row[path] for row in part.combinations())
            for part, paths in told
            for path in paths
        }

    def of(self, combination: Combination) -> str:
        """Name of one combination; empty where nothing of the group is swept."""
        return ",".join(
            f"{self._names[path]}={self._texts[path][_key(combination[path])]}"
            for path in self._paths
        )


def _telling(part: SweepPart, paths: Sequence[str]) -> Sequence[str]:
    """The paths that tell the rows of a part apart; in a zip mostly the first does alone."""
    if part.grid is not None:
        return paths
    rows = [tuple(_key(row[path]) for path in paths) for row in part.combinations()]
    for count in range(1, len(paths)):
        if len({row[:count] for row in rows}) == len(set(rows)):
            return paths[:count]
    return paths


def _short_names(paths: Sequence[str]) -> dict[str, str]:
    """For each path its last part, with as many before it as make it unique."""
    names = {}
    for path in paths:
        parts = split_path(path)
        others = [split_path(other) for other in paths if other != path]
        count = 1
        while count < len(parts) and any(other[-count:] == parts[-count:] for other in others):
            count += 1
        names[path] = ".".join(parts[-count:]).lstrip("-").replace(".--", ".")
    return names


def _value_texts(values: Iterable[JsonValue]) -> dict[str, str]:
    """Value (as JSON) to a text fit for a shell; ``#N`` where no short text tells it apart."""
    distinct = {_key(value): value for value in values}
    plain = {key: _plain(value) for key, value in distinct.items()}
    texts = list(plain.values())
    return {
        key: text if text and texts.count(text) == 1 else f"#{number}"
        for number, (key, text) in enumerate(plain.items(), start=1)
    }


def _plain(value: JsonValue) -> str:
    if isinstance(value, dict | list):
        return ""
    text = value if isinstance(value, str) else json.dumps(value)
    return _UNSAFE.sub("_", text)


def _key(value: JsonValue) -> str:
    return json.dumps(value, sort_keys=True)
