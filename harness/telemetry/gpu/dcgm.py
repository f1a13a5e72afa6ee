"""Accelerators through a DCGM exporter that runs on the host anyway.

Written from the exporter's documented names; none was at hand to try.
"""

import httpx

from gauntlet.harness.telemetry.gpu.accelerator import Accelerator
from gauntlet.harness.telemetry.prometheus import MetricPoint, read_metrics
from gauntlet.harness.telemetry.source import TIMEOUT_S, Reading, SourceError

_VALUES = {
    "DCGM_FI_DEV_GPU_UTIL": "utilization_pct",
    "DCGM_FI_DEV_FB_USED": "memory_used_mib",
    "DCGM_FI_DEV_POWER_USAGE": "power_w",
    "DCGM_FI_DEV_SM_CLOCK": "sm_clock_mhz",
    "DCGM_FI_DEV_GPU_TEMP": "temperature_c",
    "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS": "throttle_bits",
    "DCGM_FI_DEV_CLOCKS_EVENT_REASONS": "throttle_bits",
}


class DcgmSource:
    """Source ``gpu`` from the exporter's ``/metrics``."""

    name = "gpu"

    def __init__(self, url: str) -> None:
        """``url`` is the exporter's whole address, such as ``http://host:9400/metrics``."""
        self._url = url
        self._client = httpx.Client(timeout=TIMEOUT_S, trust_env=False)

    def accelerators(self) -> tuple[Accelerator, ...]:
        """All devices that have a value now."""
        return exported_accelerators(self._points())

    def read(self) -> list[Reading]:
        """Ask the exporter. Raises SourceError where it does not answer."""
        return exported_readings(self._points())

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _points(self) -> list[MetricPoint]:
        try:
            text = self._client.get(self._url).raise_for_status().text
        except httpx.HTTPError as error:
            msg = f"GET {self._url}: {type(error).__name__}: {error}"
            raise SourceError(msg) from error
        return read_metrics(text, _VALUES)


def exported_readings(points: list[MetricPoint]) -> list[Reading]:
    """Sort the exporter's points by device; a MIG slice's points are not the device's."""
    found: dict[str, dict[str, float]] = {}
    for point in points:
        if not point.labels.get("GPU_I_ID"):
            found.setdefault(point.labels.get("gpu", "0"), {})[_VALUES[point.name]] = point.value
    return [Reading(device, values) for device, values in found.items()]


def exported_accelerators(points: list[MetricPoint]) -> tuple[Accelerator, ...]:
    """Read the devices from the labels."""
    found = {}
    for labels in (point.labels for point in points):
        index = int(labels.get("gpu", "0"))
        found[index] = Accelerator(
            index=index,
            name=labels.get("modelName", "unknown"),
            uuid=labels.get("UUID"),
            driver_version=labels.get("DCGM_FI_DRIVER_VERSION"),
        )
    return tuple(found[index] for index in sorted(found))
