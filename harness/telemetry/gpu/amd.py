"""AMD's accelerators through ``amdsmi``, which ROCm installs.

Written from the library's documented names; no such accelerator was at hand to try.
"""

import contextlib
from collections.abc import Callable

from gauntlet.harness.telemetry.gpu.accelerator import Accelerator
from gauntlet.harness.telemetry.source import Reading, SourceError


class AmdSource:
    """Source ``gpu``; the library is held open until ``close``."""

    name = "gpu"

    def __init__(self) -> None:
        """Open the library. Raises SourceError where it or its driver is not there."""
        try:
            import amdsmi
        except (ImportError, OSError, KeyError) as error:  # it loads its library on import
            msg = f"amdsmi cannot be imported: {error}"
            raise SourceError(msg) from error
        self._smi = amdsmi
        try:
            amdsmi.amdsmi_init()
            self._devices = amdsmi.amdsmi_get_processor_handles()
        except amdsmi.AmdSmiException as error:
            msg = f"amdsmi: {error}"
            raise SourceError(msg) from error

    def accelerators(self) -> tuple[Accelerator, ...]:
        """All devices."""
        smi = self._smi
        found = []
        for index, device in enumerate(self._devices):
            asic = self._asked(smi.amdsmi_get_gpu_asic_info, device)
            driver = self._asked(smi.amdsmi_get_gpu_driver_info, device)
            uuid = self._asked(smi.amdsmi_get_gpu_device_uuid, device)
            found.append(
                Accelerator(
                    index=index,
                    name=_text(_of(asic, "market_name")) or "unknown",
                    uuid=_text(uuid),
                    driver_version=_text(_of(driver, "driver_version")),
                )
            )
        return tuple(found)

    def read(self) -> list[Reading]:
        """Look at every device; what one does not support is not there."""
        return [Reading(str(index), self._values(d)) for index, d in enumerate(self._devices)]

    def close(self) -> None:
        """Close the library."""
        with contextlib.suppress(self._smi.AmdSmiException):
            self._smi.amdsmi_shut_down()

    def _values(self, device: object) -> dict[str, float]:
        smi = self._smi
        activity = self._asked(smi.amdsmi_get_gpu_activity, device)
        memory = self._asked(smi.amdsmi_get_gpu_vram_usage, device)
        power = self._asked(smi.amdsmi_get_power_info, device)
        clock = self._asked(smi.amdsmi_get_clock_info, device, smi.AmdSmiClkType.GFX)
        heat = self._asked(
            smi.amdsmi_get_temp_metric,
            device,
            smi.AmdSmiTemperatureType.HOTSPOT,
            smi.AmdSmiTemperatureMetric.CURRENT,
        )
        found = {
            "utilization_pct": _first(activity, "gfx_activity"),
            "memory_used_mib": _first(memory, "vram_used"),
            "power_w": _first(power, "current_socket_power", "average_socket_power"),
            "sm_clock_mhz": _first(clock, "clk", "cur_clk"),
            "temperature_c": _number(heat),
        }
        return {name: value for name, value in found.items() if value is not None}

    def _asked(self, ask: Callable[..., object], *arguments: object) -> object:
        with contextlib.suppress(self._smi.AmdSmiException):
            return ask(*arguments)
        return None


def _of(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, dict) else None


def _first(value: object, *names: str) -> float | None:
    """The first of the names that has a number."""
    numbers = (_number(_of(value, name)) for name in names)
    return next((number for number in numbers if number is not None), None)


def _number(value: object) -> float | None:
    """A number; ``N/A`` is none."""
    return float(value) if isinstance(value, int | float) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value not in {"", "N/A"} else None
