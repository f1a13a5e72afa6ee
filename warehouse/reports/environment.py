"""What a job ran with, as rows: the output of pip, or plain JSON of several kinds of things."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from packaging.utils import canonicalize_name
from pydantic import Field, ValidationError

from gauntlet.core.errors import UsageError
from gauntlet.core.yaml_file import StrictModel
from gauntlet.warehouse.rows.base import UtcTime
from gauntlet.warehouse.rows.ci import EnvironmentRow

_PINNED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?\s*===?\s*([^\s;\\]+)")
_DIRECT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?\s*@\s*(\S+)")
_EDITABLE = re.compile(r"-e\s+(\S+?)(?:#egg=(\S+))?$")
_SHOWN = 80


class EnvironmentFile(StrictModel):
    """The JSON form: names and versions by kind; ``released`` gives times of packages' versions."""

    packages: dict[str, str] = Field(default_factory=dict)
    images: dict[str, str] = Field(default_factory=dict)
    drivers: dict[str, str] = Field(default_factory=dict)
    variables: dict[str, str] = Field(default_factory=dict)
    released: dict[str, UtcTime] = Field(default_factory=dict)


class _Listed(StrictModel):
    """One entry of ``pip list --format json``."""

    name: str
    version: str
    editable_project_location: str | None = None
    latest_version: str | None = None
    latest_filetype: str | None = None


@dataclass(slots=True)
class EnvironmentReading:
    """Rows, and the lines that are none."""

    rows: list[EnvironmentRow] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def read_environment(text: str, *, file: str, job_id: UUID, at: datetime) -> EnvironmentReading:
    """Read any of the three forms; packages by their canonical names.

    Raises UsageError for JSON that is none of them.
    """
    if text.lstrip()[:1] in ("{", "["):
        return EnvironmentReading(rows=list(_from_json(text, file, job_id, at)))
    found = EnvironmentReading()
    for number, line in enumerate(text.splitlines(), start=1):
        bare = line.strip()
        if not bare or bare.startswith(("#", "--")):
            continue
        pinned = _PINNED.match(bare) or _DIRECT.match(bare)
        editable = _EDITABLE.match(bare)
        if pinned:
            name, version = pinned[1], pinned[2]
        elif editable:
            name, version = editable[2] or editable[1].rpartition("/")[2], editable[1]
        else:
            found.problems.append(f"{file}:{number}: no pinned package: {bare[:_SHOWN]!r}")
            continue
        found.rows.append(_package(name, version, job_id, at))
    return found


def _from_json(text: str, file: str, job_id: UUID, at: datetime) -> Iterator[EnvironmentRow]:
    try:
        value: Any = json.loads(text)
        if isinstance(value, list):
            for entry in value:
                listed = _Listed.model_validate(entry)
                yield _package(listed.name, listed.version, job_id, at)
            return
        known = EnvironmentFile.model_validate(value)
    except (ValueError, RecursionError) as error:
        said = error.errors()[0] if isinstance(error, ValidationError) else None
        where = ".".join(map(str, said["loc"])) if said else ""
        reason = f"{where}: {said['msg']}" if said else str(error)
        keys = ", ".join(EnvironmentFile.model_fields)
        hint = f"give the list of `pip list --format json`, or an object with the keys {keys}"
        raise UsageError(f"{file}: {reason}", hint=hint) from error
    released = {canonicalize_name(name): when for name, when in known.released.items()}
    for name, version in known.packages.items():
        yield _package(name, version, job_id, at, released.get(canonicalize_name(name)))
    for name, version in known.images.items():
        yield EnvironmentRow(job_id=job_id, kind="image", name=name, version=version, at=at)
    for name, version in known.drivers.items():
        yield EnvironmentRow(job_id=job_id, kind="driver", name=name, version=version, at=at)
    for name, version in known.variables.items():
        yield EnvironmentRow(job_id=job_id, kind="variable", name=name, version=version, at=at)


def _package(
    name: str, version: str, job_id: UUID, at: datetime, released_at: datetime | None = None
) -> EnvironmentRow:
    return EnvironmentRow(
        job_id=job_id,
        kind="package",
        name=canonicalize_name(name),
        version=version,
        released_at=released_at,
        at=at,
    )
