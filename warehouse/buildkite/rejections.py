"""What a payload was refused for, as a row that shows nothing secret."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from pydantic import BaseModel, ValidationError

from gauntlet.core.yaml_file import key_text
from gauntlet.warehouse.buildkite.payloads import (
    AgentPayload,
    BuildPayload,
    JobKind,
    JobPayload,
    PipelineReference,
    RetrySource,
    well_formed,
)
from gauntlet.warehouse.rows.ingest import RejectedRow

MAX_RAW_BYTES = 4096
_MAX_VALUE = 80
_MAX_TEXT = 1000
_MAX_ITEMS = 20
# Bounded on the left, or a long word without @ would be tried from each of its letters.
_PART = r"[^\s<>()\[\]\"',;@]"
_ADDRESS = re.compile(rf"{_PART}{{1,64}}@{_PART}{{1,255}}")

_MODELS: tuple[type[BaseModel], ...] = (
    AgentPayload,
    BuildPayload,
    JobKind,
    JobPayload,
    PipelineReference,
    RetrySource,
)
# Keys that may be shown: those that we read. `env` holds secrets, whatever its names are.
_SHOWN = frozenset(name for model in _MODELS for name in model.model_fields) - {"env"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing wrong in a payload: the path of the field below it, and what is wrong."""

    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a payload was: the address, and the path in what the address gave."""

    origin: str
    path: str

    def within(self, path: str) -> "Place":
        """Return the place of a part of this payload."""
        joined = ".".join(filter(None, (self.path, path)))
        return Place(origin=self.origin, path=joined)


def without_addresses(text: str) -> str:
    """Hide e-mail addresses: names of people are kept, their addresses are not."""
    return _ADDRESS.sub("***", text)


def problems(error: ValidationError) -> list[Problem]:
    """Say what pydantic found: field, reason and value."""
    return [
        Problem(
            field=key_text(tuple(item["loc"])),
            message=_message(item["type"], item["msg"], item["loc"][:1], item["input"]),
        )
        for item in error.errors(include_url=False)
    ]


def _message(kind: str, said: str, top: tuple[int | str, ...], value: object) -> str:
    if kind == "missing":
        return "it is missing"
    if kind == "model_type":
        return f"it should be an object (got {type(value).__name__})"
    text = said.removeprefix("Value error, ")
    if top == ("env",) or isinstance(value, Mapping | list | tuple):
        return f"{text} (got {type(value).__name__})"
    return f"{text} (got {_cut(repr(_shown(value)), _MAX_VALUE)})"


def rejected(
    payload: object, found: Iterable[Problem], *, target: str, place: Place, at: datetime
) -> RejectedRow:
    """Make the row of one refused payload, whose reasons name field and value.

    Where one field alone is wrong, the position names it.
    """
    reasons = tuple(str(problem) for problem in found)
    fields = {problem.field for problem in found}
    position = place.within(fields.pop()) if len(fields) == 1 else place
    return RejectedRow(
        source="buildkite",
        origin=well_formed(position.origin),
        position=well_formed(position.path),
        target=target,
        reasons=reasons,
        raw=_raw(payload),
        at=at,
    )


def _raw(payload: object) -> str:
    text = json.dumps(_shown(payload), ensure_ascii=False, default=str)
    return _cut(text, MAX_RAW_BYTES)


def _cut(text: str, limit: int) -> str:
    """Cut text to ``limit`` bytes of UTF-8."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return data.decode()
    return data[: limit - 3].decode("utf-8", "ignore") + "..."


def _shown(value: object) -> object:
    """Copy plain data without keys that we do not read, and without addresses."""
    if isinstance(value, Mapping):
        return {str(key): _shown(item) for key, item in value.items() if key in _SHOWN}
    if isinstance(value, list):
        return [_shown(item) for item in value[:_MAX_ITEMS]]
    return without_addresses(value[:_MAX_TEXT]) if isinstance(value, str) else value
