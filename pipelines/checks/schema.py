"""Check a pipeline against Buildkite's own JSON schema, step by step.

The schema's root tries every kind of step in turn for every step, which is several times slower
and complains of the wrong thing; here each step is held against the definition of its kind.
"""

import importlib.util
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gauntlet.core.errors import InfrastructureError
from gauntlet.core.yaml_file import KeyPath, key_text
from gauntlet.pipelines.checks.findings import Finding
from gauntlet.pipelines.checks.steps import StepView, views
from gauntlet.pipelines.definitions.keys import key_fault

if TYPE_CHECKING:
    from jsonschema import Draft7Validator

Schema = Mapping[str, Any]

_KINDS = frozenset({"command", "block", "input", "trigger", "wait", "group"})
# A definition of these words alone says what each field is, and nothing about two together.
_FIELD_BY_FIELD = frozenset(
    {"type", "properties", "required", "additionalProperties", "description", "title"}
)
# Fields of which the schema asks only that they are text.
_FREE_TEXT = frozenset({"label", "command", "commands", "depends_on", "prompt", "block", "if"})


@cache
def builtin_schema() -> Schema:
    """Read the JSON schema that the Buildkite SDK ships, without importing the SDK."""
    spec = importlib.util.find_spec("buildkite_sdk")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    for folder in folders:
        path = Path(folder) / "schema.json"
        if path.is_file():
            schema: Schema = json.loads(path.read_text(encoding="utf-8"))
            return schema
    msg = "the installed buildkite-sdk ships no schema.json"
    raise InfrastructureError(msg, hint="install the pinned dependencies again")


def schema_findings(pipeline: Mapping[str, Any], schema: Schema) -> Iterator[Finding]:
    """Yield what the schema finds: at most one finding for a step, and those around the steps."""
    checks = _Checks(schema)
    yield from checks.root(pipeline)
    for view in views(pipeline):
        finding = checks.step(view)
        if finding is not None:
            yield finding


class _Checks:
    """Validators by definition; remembers which values of which field are right: they are few."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._validators: dict[str, Draft7Validator] = {}
        self._sound: set[object] = set()

    def root(self, pipeline: Mapping[str, Any]) -> Iterator[Finding]:
        """Check everything but the steps."""
        if not isinstance(pipeline.get("steps"), list):
            yield Finding(path=("steps",), where="steps", message="expected a list of steps")
        finding = self._first("", {**pipeline, "steps": []}, (), "pipeline")
        if finding is not None:
            yield finding

    def step(self, view: StepView) -> Finding | None:
        """Check one step, or a group without its members."""
        if view.kind not in _KINDS or (view.kind == "group" and view.group is not None):
            message = f"no kind of step that may stand here; known: {', '.join(sorted(_KINDS))}"
            shown = repr(view.kind)
            return Finding(path=view.path, where=view.name, message=message, value=shown)
        name, written = _definition(view), view.written
        if view.kind == "group" and isinstance(written, dict):
            # A stand-in for its members, which are checked by themselves.
            members = written.get("steps")
            written = {**written, "steps": [{"command": "true"}] if members else []}
        if isinstance(written, dict) and self._fields_are_sound(name, written):
            return None
        return self._first(name, written, view.path, view.name)

    def _fields_are_sound(self, name: str, step: dict[str, Any]) -> bool:
        """Whether a step is right field by field; False where only the whole of it can tell."""
        definition = self._schema["definitions"][name]
        known = definition.get("properties", {})
        if not definition.keys() <= _FIELD_BY_FIELD or not step.keys() <= known.keys():
            return False
        if not step.keys() >= set(definition.get("required", ())):
            return False
        return all(self._field_is_sound(name, field, value) for field, value in step.items())

    def _field_is_sound(self, name: str, field: str, value: object) -> bool:
        shape = (name, field, _shape(field, value))
        if shape in self._sound:
            return True
        if not self._validator(f"{name}/properties/{field}").is_valid(value):
            return False
        self._sound.add(shape)
        return True

    def _first(self, name: str, value: object, path: KeyPath, where: str) -> Finding | None:
        """The most telling error, or None. Judging that is slow, so only where there is one."""
        check = self._validator(name)
        if check.is_valid(value):
            return None
        from jsonschema.exceptions import best_match

        error = best_match(check.iter_errors(value))
        inside = tuple(error.absolute_path)
        shown = f"{where}.{key_text(inside)}" if inside else where
        return Finding(path=(*path, *inside), where=shown, message=error.message)

    def _validator(self, name: str) -> "Draft7Validator":
        from jsonschema import Draft7Validator

        if name not in self._validators:
            reference = {
                "$ref": f"#/definitions/{name}",
                "definitions": self._schema["definitions"],
            }
            self._validators[name] = Draft7Validator(reference if name else self._schema)
        return self._validators[name]


def _definition(view: StepView) -> str:
    if isinstance(view.written, str):
        return f"string{view.kind.capitalize()}Step"
    prefix = "nested" if view.nested else ""
    name = f"{prefix}{view.kind.capitalize()}Step"
    return name[0].lower() + name[1:]


def _shape(field: str, value: object) -> object:
    """What the schema can tell apart in a field, cheap to compare."""
    if field in _FREE_TEXT:
        return _types(value)
    if field == "key" and isinstance(value, str) and key_fault(value) is None:
        return str
    if field == "plugins" and isinstance(value, list):
        # The schema does not look into the configuration of a plugin.
        return tuple(len(item) if isinstance(item, dict) else type(item) for item in value)
    return repr(value)


def _types(value: object) -> object:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return (list, len(value) > 0)
    return type(value) if isinstance(value, str) else repr(value)
