"""The host: load, memory, clocks of its processors; all from /proc and /sys."""

from pathlib import Path

from gauntlet.harness.telemetry.source import Reading

_KIB_PER_MIB = 1024


class HostSource:
    """Source ``host``; clocks are there where the system shows them."""

    name = "host"

    def __init__(self, *, root: Path = Path("/")) -> None:
        """Look below ``root``; governors are read once, as nobody changes them in a run."""
        self._proc = root / "proc"
        cpus = root / "sys/devices/system/cpu"
        self._clocks = sorted(cpus.glob("cpu[0-9]*/cpufreq/scaling_cur_freq"))
        self._throttles = sorted(cpus.glob("cpu[0-9]*/thermal_throttle/core_throttle_count"))

    def read(self) -> list[Reading]:
        """Look once. Raises OSError or ValueError where /proc is not what it should be."""
        values = {"load_1m": float((self._proc / "loadavg").read_text().split()[0])}
        memory = dict(
            line.split(":", 1) for line in (self._proc / "meminfo").read_text().splitlines()
        )
        for key, name in (("MemAvailable", "memory_available_mib"), ("SwapFree", "swap_free_mib")):
            if key in memory:
                values[name] = int(memory[key].split()[0]) / _KIB_PER_MIB
        clocks = [int(path.read_text()) / 1000 for path in self._clocks]
        if clocks:
            values["cpu_clock_mean_mhz"] = sum(clocks) / len(clocks)
            values["cpu_clock_min_mhz"] = min(clocks)
        if self._throttles:
            values["cpu_throttles"] = float(sum(int(p.read_text()) for p in self._throttles))
        return [Reading("host", values)]

    def close(self) -> None:
        """Nothing is held open."""


def cpu_governors(*, root: Path = Path("/")) -> tuple[str, ...]:
    """Governors of the processors' clocks, each once; empty where the system does not show them."""
    folder = root / "sys/devices/system/cpu"
    paths = folder.glob("cpu[0-9]*/cpufreq/scaling_governor")
    return tuple(sorted({path.read_text().strip() for path in paths}))
