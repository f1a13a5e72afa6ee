"""The path language: change one value of a recipe, and check the whole again.

A path is dotted, with names instead of indices for lists of named things:
``workloads.random.arrivals.concurrency``, ``topology.roles.prefill.replicas``. Below
``arguments`` stands one flag (``engine.arguments.--max-num-seqs``), below ``env`` and ``body`` a
key as it is.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue, ValidationError

from gauntlet.core.errors import ConfigError, Problem, UsageError, nearest
from gauntlet.core.yaml_file import KeyPath, ModelT, YamlDocument, parse_yaml, validate_model
from gauntlet.perf_eval.arguments import set_flag

# Below these a key may hold dots of its own.
_FREE = ("env", "body")


class PathError(Exception):
    """A path that leads nowhere."""

    def __init__(
        self, message: str, *, known: Sequence[str] = (), close: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.known = tuple(known)
        self.close = close


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where overrides stand, so that a complaint can name file and line."""

    document: YamlDocument
    keys: Mapping[str, KeyPath] = field(default_factory=dict)
    whole: KeyPath = ()

    def problem(
        self,
        path: str | None,
        message: str,
        *,
        value: str | None = None,
        allowed: tuple[str, ...] = (),
        nearest: str | None = None,
    ) -> Problem:
        """Build a problem with the override of ``path``, or with all of them."""
        where = self.whole if path is None else self.keys.get(path, (path,))
        return self.document.problem(where, message, value=value, allowed=allowed, nearest=nearest)


COMMAND_LINE = Origin(document=YamlDocument("--set", {}, {}))


def parse_settings(settings: Sequence[str]) -> dict[str, JsonValue]:
    """Read ``path=value`` texts; values are YAML. Raises UsageError, or ConfigError for YAML."""
    found: dict[str, JsonValue] = {}
    for text in settings:
        path, equals, raw = text.partition("=")
        # A flag is a path of its own, with no "=" in it.
        if not equals or not path.strip():
            msg = f"--set {text!r} is not of the form path=value"
            raise UsageError(msg, hint="for example --set workloads.random.requests=64")
        if path in found:
            msg = f"--set {path} is given twice"
            raise UsageError(msg, hint="give it once; several values are a sweep of the recipe")
        found[path] = parse_yaml(raw, file=f"--set {path}").value
    return found


def override(
    model: ModelT, overrides: Mapping[str, JsonValue], origin: Origin = COMMAND_LINE
) -> ModelT:
    """A copy with other values at the given paths, validated as a whole.

    Raises ConfigError naming each path that does not exist or takes no such value.
    """
    if not overrides:
        return model
    data = model.model_dump(mode="json")
    targets: dict[str, KeyPath] = {}
    problems: list[Problem] = []
    for path, value in overrides.items():
        try:
            targets[path] = set_value(data, path, value)
        except PathError as error:
            problem = origin.problem(path, error.message, allowed=error.known, nearest=error.close)
            problems.append(problem)
    if problems:
        raise ConfigError(problems)
    try:
        return type(model).model_validate(data)
    except ValidationError as error:
        places = [tuple(item["loc"]) for item in error.errors()]
    raise ConfigError(_complaints(type(model), data, places, targets, origin))


def split_path(path: str) -> tuple[str, ...]:
    """Parts of a dotted path. Raises PathError for an empty part."""
    parts = path.split(".")
    for index, part in enumerate(parts[:-1]):
        is_flag = part == "arguments" and parts[index + 1].startswith("-")
        if is_flag or part in _FREE:
            parts = [*parts[: index + 1], ".".join(parts[index + 1 :])]
            break
    if not all(parts):
        msg = "a path is made of names with a dot between them"
        raise PathError(msg)
    return tuple(parts)


def set_value(data: dict[str, Any], path: str, value: JsonValue) -> KeyPath:
    """Set one value in plain data; return where it went, with indices. Raises PathError.

    Whether the key exists is left to the validation of the whole, which knows every key.
    """
    *parents, last = split_path(path)
    node: Any = data
    here: list[str | int] = []
    for depth, part in enumerate(parents):
        index = _index(node, part, parents[:depth])
        if isinstance(node, dict) and node.get(part) is None:
            node[part] = {}
        node = node[index]
        here.append(index)
    if isinstance(node, list) and last.startswith("-"):
        node[:] = set_flag(node, last, deepcopy(value))
        return tuple(here)
    index = _index(node, last, parents)
    node[index] = deepcopy(value)
    return (*here, index)


def _index(node: object, part: str, above: Sequence[str]) -> Any:  # noqa: ANN401 - str or int
    """The key or index that ``part`` names in a mapping or a list of named things."""
    if isinstance(node, dict):
        return part
    place = ".".join(above)
    if not isinstance(node, list):
        msg = f"{place} is a single value, nothing lies below it"
        raise PathError(msg)
    names = [item.get("name") if isinstance(item, dict) else None for item in node]
    if node and None in names:
        msg = f"the items of {place} have no names: give the whole list"
        raise PathError(msg)
    if part not in names:
        known = [str(name) for name in names]
        msg = f"{place} has nothing named {part!r}"
        raise PathError(msg, known=known, close=nearest(part, known))
    return names.index(part)


def _complaints(
    model: type[ModelT],
    data: dict[str, Any],
    places: Sequence[KeyPath],
    targets: Mapping[str, KeyPath],
    origin: Origin,
) -> list[Problem]:
    """What validation says of plain data, told in terms of the overrides that caused it."""
    try:
        validate_model(YamlDocument(origin.document.file, data, {}), model)
    except ConfigError as error:
        found = error.problems
    else:
        return []
    problems = []
    for place, problem in zip(places, found, strict=True):
        path = _cause(place, targets)
        # The value itself is wrong, not something within it or beside it.
        target = targets[path] if path else ()
        whole = _matched(place, target) == len(target) and place[-1:] == target[-1:]
        inner = "" if whole or not problem.key else f"{problem.key}: "
        problems.append(
            origin.problem(
                path,
                inner + problem.message,
                value=problem.value,
                allowed=problem.allowed,
                nearest=problem.nearest,
            )
        )
    return problems


def _cause(place: KeyPath, targets: Mapping[str, KeyPath]) -> str | None:
    """The override that reaches furthest towards where validation failed."""
    if len(targets) == 1:
        return next(iter(targets))
    best = max(targets, key=lambda path: _matched(place, targets[path]))
    return best if _matched(place, targets[best]) else None


def _matched(place: KeyPath, target: KeyPath) -> int:
    """How many parts of ``target`` occur in order in ``place``, which also names union members."""
    count = 0
    for part in place:
        if count < len(target) and part == target[count]:
            count += 1
    return count
