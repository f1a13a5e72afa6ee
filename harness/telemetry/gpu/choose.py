"""Find out how accelerators can be looked at on this host."""

import logging
from collections.abc import Callable, Sequence

from gauntlet.harness.telemetry.gpu.accelerator import Accelerator, GpuSource
from gauntlet.harness.telemetry.gpu.amd import AmdSource
from gauntlet.harness.telemetry.gpu.dcgm import DcgmSource
from gauntlet.harness.telemetry.gpu.nvidia_smi import NvidiaSmiSource
from gauntlet.harness.telemetry.gpu.nvml import NvmlSource
from gauntlet.harness.telemetry.source import Reading, SourceError

_LOGGER = logging.getLogger(__name__)
_KINDS: tuple[Callable[[], GpuSource], ...] = (NvmlSource, AmdSource, NvidiaSmiSource)


class NoGpuSource:
    """Source ``gpu`` of a host without accelerators: says ``none`` once, for the record."""

    name = "gpu"

    def __init__(self) -> None:
        self._said = False

    def accelerators(self) -> tuple[Accelerator, ...]:
        """No devices."""
        return ()

    def read(self) -> list[Reading]:
        """Say that there is none, the first time."""
        if self._said:
            return []
        self._said = True
        return [Reading("none", {})]

    def close(self) -> None:
        """Nothing is held open."""


def gpu_source(
    *, dcgm_url: str | None = None, kinds: Sequence[Callable[[], GpuSource]] = _KINDS
) -> GpuSource:
    """Return the first source that works: an exporter that was named, NVML, amdsmi, nvidia-smi."""
    if dcgm_url is not None:
        return DcgmSource(dcgm_url)
    for kind in kinds:
        try:
            source = kind()
            if source.accelerators():
                return source
        except SourceError as error:
            _LOGGER.debug("accelerators: %s", error)
        else:
            source.close()
    return NoGpuSource()


def accelerators(*, dcgm_url: str | None = None) -> tuple[Accelerator, ...]:
    """All accelerators of this host, for the record; empty where there are none.

    Raises SourceError where an exporter that was named does not answer.
    """
    source = gpu_source(dcgm_url=dcgm_url)
    try:
        return source.accelerators()
    finally:
        source.close()
