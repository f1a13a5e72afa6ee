"""JSON in, typed models out; every complaint names file, line or key, and the value."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gauntlet.core.errors import ConfigError, Problem
from gauntlet.core.yaml_file import ModelT, StrictModel, YamlDocument, read_text, validate_model


class _RepeatedKeyError(ValueError):
    """A key stands twice in one object; the standard reader would drop the first."""


def load_json_model(path: Path, model: type[ModelT]) -> ModelT:
    """Read a JSON file into a model; raise one ConfigError with every problem in it."""
    return parse_json_model(read_text(path), model, file=str(path))


def parse_json_model(text: str, model: type[ModelT], *, file: str) -> ModelT:
    """Parse JSON text into a model.

    Raises ConfigError for broken syntax, keys given twice, and whatever the model refuses.
    """
    try:
        value = json.loads(text, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        problem = Problem(file=file, line=error.lineno, message=f"JSON: {error.msg}")
        raise ConfigError([problem]) from error
    except (_RepeatedKeyError, RecursionError) as error:
        raise ConfigError([Problem(file=file, message=f"JSON: {error}")]) from error
    return validate_model(YamlDocument(file, value, {}), model)


def json_text(model: StrictModel) -> str:
    """Text of a model as it is kept on disk; the same bytes for the same model."""
    return json.dumps(model.model_dump(mode="json"), indent=1, ensure_ascii=True) + "\n"


def _unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            msg = f"the key {key!r} is given twice"
            raise _RepeatedKeyError(msg)
        found[key] = value
    return found
