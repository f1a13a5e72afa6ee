"""What an accelerator is."""

from dataclasses import dataclass
from typing import Protocol

from gauntlet.harness.telemetry.source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerator:
    """One device, for the record of where a number comes from; None where it does not say."""

    index: int
    name: str
    uuid: str | None
    driver_version: str | None


class GpuSource(Source, Protocol):
    """A source ``gpu``, which also knows what the devices are."""

    def accelerators(self) -> tuple[Accelerator, ...]:
        """All devices, in order of their indices. Raises SourceError."""
