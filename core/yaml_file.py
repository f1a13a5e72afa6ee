"""YAML in, typed models out; every complaint names file, line, key and remedy."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from gauntlet.core.errors import ConfigError, Problem, nearest

KeyPath = tuple[str | int, ...]
_LONGEST_VALUE = 80


class StrictModel(BaseModel):
    """Base of every model at a boundary: unknown keys are errors, values do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


ModelT = TypeVar("ModelT", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """Plain data of one YAML document and the line (from 1) on which each key stands."""

    file: str
    value: Any
    lines: Mapping[KeyPath, int]

    def line(self, path: KeyPath) -> int | None:
        """Line of ``path``, or of its nearest parent that has one."""
        while path:
            if path in self.lines:
                return self.lines[path]
            path = path[:-1]
        return self.lines.get(())

    def problem(
        self,
        path: KeyPath,
        message: str,
        *,
        value: str | None = None,
        allowed: tuple[str, ...] = (),
        nearest: str | None = None,
    ) -> Problem:
        """Build a problem at ``path`` in this document."""
        return Problem(
            file=self.file,
            line=self.line(path),
            key=key_text(path) or None,
            message=message,
            value=value,
            allowed=allowed,
            nearest=nearest,
        )


def key_text(path: KeyPath) -> str:
    """Render a key path as people write it: ``steps[2].label``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def read_text(path: Path) -> str:
    """Read UTF-8 text; raise ConfigError where the file is absent, a folder or not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or f"not UTF-8 text: {error}"
        raise ConfigError([Problem(file=str(path), message=str(reason))]) from error


def load_yaml(path: Path) -> YamlDocument:
    """Read one YAML file; raise ConfigError (with the line) where it does not parse."""
    return parse_yaml(read_text(path), file=str(path))


def parse_yaml(text: str, *, file: str) -> YamlDocument:
    """Parse one YAML document. An empty or comments-only document has the value None.

    Raises ConfigError for broken syntax, duplicate keys and more than one document.
    """
    loader = yaml.CSafeLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return YamlDocument(file, None, {})
        lines: dict[KeyPath, int] = {}
        problems: list[Problem] = []
        _Walk(file, lines, problems).visit(node, ())
        if problems:
            raise ConfigError(problems)
        # CSafeLoader inherits its constructor; the stubs of the C loader leave it untyped.
        value = loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = "; ".join(filter(None, (error.context, error.problem)))
        line = mark.line + 1 if mark else None
        raise ConfigError([Problem(file=file, line=line, message=f"YAML: {message}")]) from error
    except yaml.YAMLError as error:
        raise ConfigError([Problem(file=file, message=f"YAML: {error}")]) from error
    finally:
        loader.dispose()
    return YamlDocument(file, value, lines)


@dataclass(slots=True)
class _Walk:
    """Records the line of every key, and complains of keys given twice."""

    file: str
    lines: dict[KeyPath, int]
    problems: list[Problem]
    seen: set[int] = field(default_factory=set)

    def visit(self, node: yaml.Node, path: KeyPath) -> None:
        self.lines.setdefault(path, node.start_mark.line + 1)
        if id(node) in self.seen:
            # An alias: its keys were read at its anchor, and a few aliases of aliases would
            # otherwise be walked millions of times.
            return
        self.seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            for index, item in enumerate(node.value):
                self.visit(item, (*path, index))
        elif isinstance(node, yaml.MappingNode):
            self._mapping(node, path)

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> None:
        names: set[str] = set()
        for key_node, value_node in node.value:
            name = str(key_node.value)
            line = key_node.start_mark.line + 1
            here = (*path, name)
            if name in names and name != "<<":
                message = "key given twice"
                problem = Problem(file=self.file, line=line, key=key_text(here), message=message)
                self.problems.append(problem)
            names.add(name)
            self.lines[here] = line
            self.visit(value_node, here)


class _Dumper(yaml.CSafeDumper):
    """Writes text of several lines as a block, which people can read."""

    def ignore_aliases(self, data: object) -> bool:
        """Repeat equal values: anchors would tie things together that have nothing in common."""
        del data
        return True


def _represent_text(dumper: yaml.CSafeDumper, text: str) -> yaml.Node:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def dump_yaml(value: object) -> str:
    """Serialise plain data in its own order; equal data gives equal text."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1 << 20)
    return text


def load_model(path: Path, model: type[ModelT]) -> ModelT:
    """Read a YAML file into a model; raise one ConfigError with every problem in it."""
    return validate_model(load_yaml(path), model)


def validate_model(document: YamlDocument, model: type[ModelT]) -> ModelT:
    """Validate a document; raise one ConfigError with every problem in it."""
    if not isinstance(document.value, dict):
        found = "nothing" if document.value is None else type(document.value).__name__
        msg = f"expected a mapping with the keys {', '.join(model.model_fields)}, found {found}"
        raise ConfigError([Problem(file=document.file, message=msg)])
    try:
        return model.model_validate(document.value)
    except ValidationError as error:
        problems = [_problem(document, model, dict(item)) for item in error.errors()]
        raise ConfigError(problems) from error


def _problem(document: YamlDocument, model: type[BaseModel], item: dict[str, Any]) -> Problem:
    path: KeyPath = tuple(item["loc"])
    if item["type"] == "extra_forbidden":
        known = _fields_at(model, path[:-1])
        return document.problem(
            path,
            "unknown key",
            allowed=tuple(sorted(known)),
            nearest=nearest(str(path[-1]), known),
        )
    if item["type"] == "missing":
        return document.problem(path, "required key is missing")
    expected = item.get("ctx", {}).get("expected")
    message = str(item["msg"]).removeprefix("Value error, ")
    return document.problem(
        path,
        f"expected {expected}" if expected else message,
        value=_shown(item["input"]),
    )


def _shown(value: object) -> str | None:
    """A scalar as it was written; a whole mapping or list would bury the message."""
    if isinstance(value, dict | list):
        return None
    text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 3]}..."


def _fields_at(model: type[BaseModel], path: KeyPath) -> list[str]:
    """Keys allowed at ``path``; empty where the path leaves the models."""
    models: list[type[BaseModel]] = [model]
    names_follow = False
    for part in path:
        following: list[type[BaseModel]] = []
        annotations = [field.annotation for m in models if (field := m.model_fields.get(str(part)))]
        for annotation in annotations:
            following += _models_in(annotation)
        if names_follow:
            names_follow = False
        elif following:
            models = following
            names_follow = any(get_origin(a) in (dict, Mapping) for a in annotations)
        elif not isinstance(part, int):
            # The kind that was chosen: keys of the other kinds are none of its own.
            models = [model for model in models if part == _tag(model)]
    return sorted({name for current in models for name in current.model_fields})


def _tag(model: type[BaseModel]) -> str | None:
    """The discriminator value that pydantic puts into the path of a tagged union's member."""
    field = model.model_fields.get("kind")
    values = get_args(field.annotation) if field else ()
    return str(values[0]) if values else None


def _models_in(annotation: object) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for part in get_args(annotation) for found in _models_in(part)]
