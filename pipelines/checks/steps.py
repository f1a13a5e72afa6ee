"""The steps of any pipeline, in every form that Buildkite takes them in."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from gauntlet.core.yaml_file import KeyPath, key_text

_KEYS = ("key", "identifier", "id")
_TYPES = {"script": "command", "commands": "command", "waiter": "wait"}
_KINDS = ("group", "block", "input", "trigger", "wait", "waiter", "command", "commands", "script")


@dataclass(frozen=True, slots=True)
class StepView:
    """One step: where it stands, of which kind it is, its fields, and the group it is in.

    ``nested``: the fields stand below the name of the kind, as in ``wait: {key: a}``.
    """

    path: KeyPath
    kind: str
    written: object
    fields: Mapping[str, Any]
    nested: bool = False
    group: int | None = None

    @property
    def top(self) -> int:
        """Position of the step, or of the group that it is in, at the top of the pipeline."""
        return int(self.path[1])

    @property
    def key(self) -> str | None:
        """Key of the step, under whichever name it is given."""
        found = next((self.fields[name] for name in _KEYS if name in self.fields), None)
        return found if isinstance(found, str) else None

    @property
    def key_is_plain(self) -> bool:
        """Whether the key is given as ``key``, not by one of its older names."""
        return "key" in self.fields

    @property
    def name(self) -> str:
        """What messages call the step."""
        return f"step {self.key!r}" if self.key else key_text(self.path)

    @property
    def depends_on(self) -> tuple[str, ...]:
        """Keys that the step waits for."""
        return dependencies(self.fields)

    @property
    def jobs(self) -> int:
        """How many jobs an upload creates for it: one for each parallel job and matrix cell."""
        if self.kind == "group":
            return 0
        parallelism = self.fields.get("parallelism", 1)
        count = parallelism if isinstance(parallelism, int) else 1
        return max(count, 1) * _cells(self.fields.get("matrix"))


def views(pipeline: Mapping[str, Any]) -> Iterator[StepView]:
    """Yield every step, and before the steps of a group the group itself."""
    for index, step in enumerate(pipeline.get("steps") or []):
        view = _view(step, ("steps", index))
        yield view
        if view.kind == "group":
            inside = view.fields.get("steps")
            for number, member in enumerate(inside if isinstance(inside, list) else []):
                yield _view(member, ("steps", index, "steps", number), group=index)


def dependencies(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Read ``depends_on`` in all its forms."""
    written = fields.get("depends_on") or []
    items = written if isinstance(written, list | tuple) else [written]
    keys = [item.get("step") if isinstance(item, Mapping) else item for item in items]
    return tuple(key for key in keys if isinstance(key, str))


def _view(step: object, path: KeyPath, *, group: int | None = None) -> StepView:
    if isinstance(step, str):
        return StepView(path, _TYPES.get(step, step), step, {}, group=group)
    if not isinstance(step, Mapping):
        return StepView(path, "command", step, {}, group=group)
    kind = _kind(step)
    inner = next((step[n] for n in _KINDS if isinstance(step.get(n), Mapping)), None)
    if inner is not None:
        return StepView(path, kind, step, inner, nested=True, group=group)
    return StepView(path, kind, step, step, group=group)


def _kind(step: Mapping[str, Any]) -> str:
    named = step.get("type")
    if not isinstance(named, str):
        named = next((name for name in _KINDS if name in step), "command")
    return _TYPES.get(named, named)


def _cells(matrix: object) -> int:
    """Number of cells of a matrix; adjustments count as cells of their own, which they may be."""
    if isinstance(matrix, list):
        return max(len(matrix), 1)
    if not isinstance(matrix, Mapping):
        return 1
    setup = matrix.get("setup")
    lists = setup.values() if isinstance(setup, Mapping) else [setup]
    cells = prod(len(values) for values in lists if isinstance(values, list))
    return max(cells + len(matrix.get("adjustments") or []), 1)
