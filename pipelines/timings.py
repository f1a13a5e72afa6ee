"""Measured durations of jobs and tests, as one file keeps them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from gauntlet.core.json_file import load_json_model
from gauntlet.core.yaml_file import StrictModel

# Strict: a string or a boolean is a mistake, not a duration.
Seconds = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]


class Timings(StrictModel):
    """Durations in seconds, oldest first: of whole jobs by key, of single tests by pytest's id."""

    schema_version: Literal[1]
    jobs: Mapping[str, tuple[Seconds, ...]] = Field(default_factory=dict)
    tests: Mapping[str, tuple[Seconds, ...]] = Field(default_factory=dict)


def load_timings(path: Path) -> Timings:
    """Read a timings file. Raises ConfigError with file, key and value of all that is wrong."""
    return load_json_model(path, Timings)
