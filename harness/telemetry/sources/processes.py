"""The processes of a server: memory, threads, open files and processor time, from /proc."""

import contextlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gauntlet.harness.telemetry.source import Reading, SourceError

_MIB = 1 << 20
_KIB_PER_MIB = 1024
# The kernel walks a whole address space for these, and the process waits meanwhile.
_PROPORTIONAL_EVERY_S = 10.0
# Finding descendants means reading every process of the host.
_TREE_EVERY_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stat:
    parent: int
    cpu_s: float
    threads: int
    rss_bytes: int


class ProcessTreeSource:
    """Source ``process``: each process below the roots (``PID NAME``), and their ``total``.

    ``roots`` is asked each time, as a server may start late or anew.
    """

    name = "process"

    def __init__(
        self, roots: Callable[[], Sequence[int]], *, label: str = "", proc: Path = Path("/proc")
    ) -> None:
        self._roots = roots
        self._prefix = f"{label}/" if label else ""
        self._proc = proc
        self._next_proportional_s = 0.0
        self._next_tree_s = 0.0
        self._pids: list[int] = []

    def read(self) -> list[Reading]:
        """Look once. Raises SourceError where none of the processes is there."""
        roots = self._roots()
        if not roots:
            return []
        now = time.monotonic()
        proportional = now >= self._next_proportional_s
        if proportional:
            self._next_proportional_s = now + _PROPORTIONAL_EVERY_S
        if now >= self._next_tree_s or not set(roots) <= set(self._pids):
            self._next_tree_s = now + _TREE_EVERY_S
            self._pids = self._tree(roots)
        readings = []
        for pid in self._pids:
            # A process may end at any moment: it is then left out, not half told.
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                readings.append(self._reading(pid, proportional=proportional))
        if not readings:
            msg = f"no process {', '.join(map(str, roots))}"
            raise SourceError(msg)
        return [*readings, Reading(f"{self._prefix}total", _total(readings))]

    def close(self) -> None:
        """Nothing is held open."""

    def _tree(self, roots: Sequence[int]) -> list[int]:
        """The roots and all their descendants."""
        children: dict[int, list[int]] = {}
        for entry in self._proc.iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                    children.setdefault(self._stat(int(entry.name)).parent, []).append(
                        int(entry.name)
                    )
        found: list[int] = []
        open_pids = list(roots)
        while open_pids:
            pid = open_pids.pop()
            found.append(pid)
            open_pids += children.get(pid, [])
        return found

    def _reading(self, pid: int, *, proportional: bool) -> Reading:
        stat = self._stat(pid)
        values = {
            "cpu_s": stat.cpu_s,
            "threads": float(stat.threads),
            "rss_mib": stat.rss_bytes / _MIB,
        }
        folder = self._proc / str(pid)
        # Of another user's process neither can be read.
        with contextlib.suppress(PermissionError):
            values["open_files"] = float(sum(1 for _ in (folder / "fd").iterdir()))
        if proportional:
            with contextlib.suppress(PermissionError):
                values.update(_proportional((folder / "smaps_rollup").read_text()))
        name = (folder / "comm").read_text(errors="replace").strip()
        return Reading(f"{self._prefix}{pid} {name}", values)

    def _stat(self, pid: int) -> _Stat:
        text = (self._proc / str(pid) / "stat").read_text(errors="replace")
        # The name, which comes second, may hold anything.
        fields = text.rpartition(")")[2].split()
        return _Stat(
            parent=int(fields[1]),
            cpu_s=(int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"),
            threads=int(fields[17]),
            rss_bytes=int(fields[21]) * os.sysconf("SC_PAGE_SIZE"),
        )


def _proportional(text: str) -> dict[str, float]:
    """Proportional set size, and what is the process's alone."""
    kib: dict[str, int] = {}
    for line in text.splitlines()[1:]:
        key, _, rest = line.partition(":")
        kib[key] = int(rest.split()[0])
    if "Pss" not in kib:
        return {}
    unique = kib.get("Private_Clean", 0) + kib.get("Private_Dirty", 0)
    return {"pss_mib": kib["Pss"] / _KIB_PER_MIB, "uss_mib": unique / _KIB_PER_MIB}


def _total(readings: Sequence[Reading]) -> Mapping[str, float]:
    """Sums of what every process told; a sum of some would look like a fall."""
    names = set.intersection(*(set(reading.values) for reading in readings))
    total = {name: sum(reading.values[name] for reading in readings) for name in sorted(names)}
    return {**total, "processes": float(len(readings))}
