"""NVIDIA's accelerators through NVML (package ``nvidia-ml-py``, extra ``gpu``)."""

import contextlib
from collections.abc import Callable

from gauntlet.harness.telemetry.gpu.accelerator import Accelerator
from gauntlet.harness.telemetry.source import Reading, SourceError

_MIB = 1 << 20


class NvmlSource:
    """Source ``gpu``; the library is held open until ``close``."""

    name = "gpu"

    def __init__(self) -> None:
        """Open the library. Raises SourceError where package, library or driver is not there."""
        try:
            import pynvml
        except ImportError as error:
            msg = "the package nvidia-ml-py is not installed"
            raise SourceError(msg) from error
        self._nvml = pynvml
        try:
            pynvml.nvmlInit()
            count = pynvml.nvmlDeviceGetCount()
            self._devices = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(count)]
        except pynvml.NVMLError as error:
            msg = f"NVML: {error}"
            raise SourceError(msg) from error

    def accelerators(self) -> tuple[Accelerator, ...]:
        """All devices."""
        nvml = self._nvml
        driver = self._text(nvml.nvmlSystemGetDriverVersion)
        return tuple(
            Accelerator(
                index=index,
                name=self._text(nvml.nvmlDeviceGetName, device) or "unknown",
                uuid=self._text(nvml.nvmlDeviceGetUUID, device),
                driver_version=driver,
            )
            for index, device in enumerate(self._devices)
        )

    def read(self) -> list[Reading]:
        """Look at every device; what one does not support is not there."""
        return [Reading(str(index), self._values(d)) for index, d in enumerate(self._devices)]

    def close(self) -> None:
        """Close the library."""
        with contextlib.suppress(self._nvml.NVMLError):
            self._nvml.nvmlShutdown()

    def _values(self, device: object) -> dict[str, float]:
        nvml = self._nvml
        # Renamed with driver 535; either may be missing.
        reasons = getattr(
            nvml,
            "nvmlDeviceGetCurrentClocksEventReasons",
            nvml.nvmlDeviceGetCurrentClocksThrottleReasons,
        )
        asked: dict[str, Callable[[], float]] = {
            "utilization_pct": lambda: nvml.nvmlDeviceGetUtilizationRates(device).gpu,
            "memory_used_mib": lambda: nvml.nvmlDeviceGetMemoryInfo(device).used / _MIB,
            "power_w": lambda: nvml.nvmlDeviceGetPowerUsage(device) / 1000,
            "sm_clock_mhz": lambda: nvml.nvmlDeviceGetClockInfo(device, nvml.NVML_CLOCK_SM),
            "temperature_c": lambda: nvml.nvmlDeviceGetTemperature(
                device, nvml.NVML_TEMPERATURE_GPU
            ),
            "throttle_bits": lambda: reasons(device),
        }
        values = {}
        for name, ask in asked.items():
            with contextlib.suppress(nvml.NVMLError):
                values[name] = float(ask())
        return values

    def _text(self, ask: Callable[..., str | bytes], *arguments: object) -> str | None:
        with contextlib.suppress(self._nvml.NVMLError):
            value = ask(*arguments)
            return value.decode() if isinstance(value, bytes) else value
        return None
