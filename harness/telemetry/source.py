"""The port behind which things are looked at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

# No source may keep the others waiting for longer.
TIMEOUT_S = 0.8


@dataclass(frozen=True, slots=True)
class Reading:
    """What a source sees of one device now."""

    device: str
    values: Mapping[str, float]


class SourceError(Exception):
    """A source could not be read this time."""


class Source(Protocol):
    """Something to look at once a second."""

    name: str

    def read(self) -> Sequence[Reading]:
        """Look once, within about ``TIMEOUT_S``. Raises SourceError, OSError or ValueError."""

    def close(self) -> None:
        """Let go of what is held open."""
