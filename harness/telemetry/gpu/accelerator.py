"""What an accelerator is, and why it may run slower than it could."""

from dataclasses import dataclass
from typing import Protocol

from gauntlet.harness.telemetry.source import Source

# NVIDIA's bits, as NVML, nvidia-smi and DCGM give them.
THROTTLE_BITS = {
    0x001: "gpu_idle",
    0x002: "applications_clocks_setting",
    0x004: "sw_power_cap",
    0x008: "hw_slowdown",
    0x010: "sync_boost",
    0x020: "sw_thermal_slowdown",
    0x040: "hw_thermal_slowdown",
    0x080: "hw_power_brake_slowdown",
    0x100: "display_clock_setting",
}
# An idle accelerator, and one whose clocks somebody set, is not held back.
HARMLESS_BITS = 0x001 | 0x002 | 0x100


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


def throttle_reasons(bits: int) -> tuple[str, ...]:
    """Decode the reasons why clocks are what they are; a bit that is unknown keeps its number."""
    names = [name for bit, name in THROTTLE_BITS.items() if bits & bit]
    rest = bits & ~sum(THROTTLE_BITS)
    return (*names, *([f"unknown_{rest:#x}"] if rest else []))


def is_throttled(bits: int) -> bool:
    """Whether power, heat or a fault holds the clocks back."""
    return bool(bits & ~HARMLESS_BITS)
