"""Check a rendered pipeline before anybody uploads it: Buildkite's schema, then the graph."""

import importlib.util
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gauntlet.core.errors import InfrastructureError, Problem
from gauntlet.core.ids import canonical_json
from gauntlet.pipelines.definitions.graph import find_cycles

if TYPE_CHECKING:
    from jsonschema import Draft7Validator

FILE = "pipeline.yaml"


def validate_pipeline(
    pipeline: Mapping[str, Any], schema: Mapping[str, Any] | None = None
) -> tuple[Problem, ...]:
    """Return everything wrong with a pipeline; empty where it is sound."""
    return (*structure_problems(pipeline, schema), *step_problems(pipeline, schema).values())


def step_problems(
    pipeline: Mapping[str, Any], schema: Mapping[str, Any] | None = None
) -> dict[str, Problem]:
    """Return what Buildkite's schema finds wrong with a step, by the key of the step.

    Each step is checked against the definition of command steps, which is what we render: the
    schema's own root tries every kind of step in turn for every step, is several times slower,
    and complains of the wrong thing. Steps of a shape that is known to be right are passed over.
    """
    check = _validator("commandStep", schema or builtin_schema())
    sound: set[str] = set()
    found = {}
    for step in command_steps(pipeline):
        shape = _shape(step)
        if shape in sound:
            continue
        problem = _first(check, step, f"step {step.get('key')!r}")
        if problem:
            found[str(step.get("key"))] = problem
        else:
            sound.add(shape)
    return found


@cache
def builtin_schema() -> Mapping[str, Any]:
    """Read the JSON schema that the Buildkite SDK ships, without importing the SDK."""
    spec = importlib.util.find_spec("buildkite_sdk")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    for folder in folders:
        path = Path(folder) / "schema.json"
        if path.is_file():
            schema: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            return schema
    msg = "the installed buildkite-sdk ships no schema.json"
    raise InfrastructureError(msg, hint="install the pinned dependencies again")


def command_steps(pipeline: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield every step below the groups, and those outside of any group."""
    for step in pipeline["steps"]:
        if "group" in step:
            yield from step["steps"]
        else:
            yield step


def _group_problems(pipeline: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[Problem]:
    """Check groups with a stand-in for their steps, which have a check of their own."""
    check = _validator("groupStep", schema)
    for top in pipeline["steps"]:
        if "group" in top:
            bare = {**top, "steps": [{"command": "true"}] if top["steps"] else []}
            problem = _first(check, bare, f"group {top['group']!r}")
            if problem:
                yield problem


def _validator(name: str, schema: Mapping[str, Any]) -> "Draft7Validator":
    from jsonschema import Draft7Validator

    reference = f"#/definitions/{name}"
    return Draft7Validator({"$ref": reference, "definitions": schema["definitions"]})


def _first(check: "Draft7Validator", value: object, where: str) -> Problem | None:
    """The most telling error, or None. Judging how telling is slow, so only where there is one."""
    from jsonschema.exceptions import best_match

    if check.is_valid(value):
        return None
    error = best_match(check.iter_errors(value))
    path = "".join(
        f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path
    )
    return Problem(file=FILE, key=f"{where}{path}", message=error.message)


def _shape(step: Mapping[str, Any]) -> str:
    """What the schema can tell apart: strings are alike unless they are keys."""
    free = {"label", "commands", "depends_on", "env"}
    return canonical_json(
        {
            key: _kinds(value) if key in free else value
            for key, value in step.items()
            if key != "key"
        }
        | {"key": type(step.get("key")).__name__, "empty": not step.get("key")}
    )


def _kinds(value: object) -> object:
    if isinstance(value, list):
        return sorted({type(item).__name__ for item in value})
    if isinstance(value, dict):
        return sorted({type(item).__name__ for item in value.values()})
    return type(value).__name__


def structure_problems(
    pipeline: Mapping[str, Any], schema: Mapping[str, Any] | None = None
) -> tuple[Problem, ...]:
    """Return what is wrong around the steps: groups, keys, dangling and circular dependencies."""
    groups = _group_problems(pipeline, schema or builtin_schema())
    return (*groups, *_graph_problems(pipeline))


def _graph_problems(pipeline: Mapping[str, Any]) -> Iterator[Problem]:
    edges: dict[str, list[str]] = {}
    for step in command_steps(pipeline):
        key = step.get("key")
        if not key:
            yield Problem(file=FILE, message="a step has no key", value=repr(step.get("label")))
            continue
        if key in edges:
            yield Problem(file=FILE, key=key, message="two steps have this key")
        edges[key] = list(step.get("depends_on", ()))
    for key, needed in edges.items():
        for dependency in needed:
            if dependency not in edges:
                where = f"{key}.depends_on"
                yield Problem(file=FILE, key=where, message="no such step", value=dependency)
    for key, cycle in find_cycles(edges).items():
        yield Problem(file=FILE, key=key, message=f"circular: {' -> '.join(cycle)}")
