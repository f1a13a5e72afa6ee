"""``index.json``: what the package index said of everything that is locked: checks need none.

For each pinned version: its files with their hashes, what it requires, when it came out, whether it
was yanked. No address is in it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field

from gauntlet.core.files import write_atomic
from gauntlet.core.json_file import json_text, load_json_model
from gauntlet.core.yaml_file import StrictModel
from gauntlet.warehouse.rows.base import UtcTime


class Recorded(StrictModel):
    """One version of one package.

    ``files`` has the sha256 (hex) of each file by its name; ``requires`` are the lines
    ``Requires-Dist`` of its metadata, None where only a build would tell. ``released`` is when its
    first file was uploaded. ``yanked`` is the index's reason, None where it is not yanked.
    ``build_requires`` is what a build needs, where source is all that there is.
    """

    files: Mapping[str, str]
    requires: tuple[str, ...] | None = None
    requires_python: str = ""
    extras: tuple[str, ...] = ()
    released: UtcTime | None = None
    yanked: str | None = None
    build_requires: tuple[str, ...] | None = None


class IndexRecord(StrictModel):
    """All recorded versions, by ``name==version`` with canonical names."""

    gauntlet: Literal[1] = 1
    packages: Mapping[str, Recorded] = Field(default_factory=dict)


def load_record(path: Path) -> IndexRecord:
    """Read a record; an empty one where there is none. Raises ConfigError for anything else."""
    if not path.exists():
        return IndexRecord()
    return load_json_model(path, IndexRecord)


def save_record(path: Path, record: IndexRecord) -> None:
    """Write a record, sorted, whole or not at all."""
    packages = {key: record.packages[key] for key in sorted(record.packages)}
    write_atomic(path, json_text(IndexRecord(packages=packages)))
