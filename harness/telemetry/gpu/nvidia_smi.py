"""NVIDIA's accelerators through the ``nvidia-smi`` program, where NVML's package is missing."""

import shutil

from gauntlet.core.proc import CommandError, run
from gauntlet.harness.telemetry.gpu.accelerator import Accelerator
from gauntlet.harness.telemetry.source import TIMEOUT_S, Reading, SourceError

# Without persistence the first call wakes the driver.
_FIRST_TIMEOUT_S = 15.0
_VALUES = {
    "utilization.gpu": "utilization_pct",
    "memory.used": "memory_used_mib",
    "power.draw": "power_w",
    "clocks.sm": "sm_clock_mhz",
    "temperature.gpu": "temperature_c",
    "clocks_throttle_reasons.active": "throttle_bits",
}


class NvidiaSmiSource:
    """Source ``gpu``: one short program each time."""

    name = "gpu"

    def __init__(self) -> None:
        """Ask once which devices there are. Raises SourceError where there is none."""
        if shutil.which("nvidia-smi") is None:
            msg = "nvidia-smi is not on PATH"
            raise SourceError(msg)
        fields = ("index", "name", "uuid", "driver_version")
        self._accelerators = tuple(
            Accelerator(index=int(index), name=name, uuid=_said(uuid), driver_version=_said(driver))
            for index, name, uuid, driver in _rows(_query(fields, _FIRST_TIMEOUT_S), len(fields))
        )

    def accelerators(self) -> tuple[Accelerator, ...]:
        """All devices."""
        return self._accelerators

    def read(self) -> list[Reading]:
        """Look at every device; what one does not support is not there."""
        return read_table(_query(("index", *_VALUES), TIMEOUT_S))

    def close(self) -> None:
        """Nothing is held open."""


def read_table(text: str) -> list[Reading]:
    """Read the program's table (``csv,noheader,nounits``) of ``index`` and our fields.

    Raises ValueError for a line of another shape.
    """
    readings = []
    for index, *cells in _rows(text, len(_VALUES) + 1):
        pairs = zip(_VALUES.values(), cells, strict=True)
        values = {name: _number(cell) for name, cell in pairs if _said(cell) is not None}
        readings.append(Reading(index, values))
    return readings


def _query(fields: tuple[str, ...], timeout_s: float) -> str:
    command = ["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
    try:
        return run(command, timeout=timeout_s).stdout
    except CommandError as error:
        raise SourceError(error.message) from error


def _rows(text: str, width: int) -> list[list[str]]:
    rows = [[cell.strip() for cell in line.split(",")] for line in text.splitlines() if line]
    for row in rows:
        if len(row) != width:
            msg = f"nvidia-smi: {len(row)} cells instead of {width}: {','.join(row)!r}"
            raise ValueError(msg)
    return rows


def _said(cell: str) -> str | None:
    """The text of a cell; None for ``[N/A]``, ``[Not Supported]`` and the like."""
    return None if cell.startswith("[") or cell in {"", "N/A"} else cell


def _number(cell: str) -> float:
    return float(int(cell, 16)) if cell.startswith("0x") else float(cell)
