"""Find processes by a mark in their environment, so that a test sees its own and no others."""

import time
from pathlib import Path

MARK = "GAUNTLET_TEST_MARK"


_SERVER = b"warehouse\0serve\0"


def marked(mark: str) -> list[int]:
    """Process ids whose environment carries the mark; zombies have none and do not count.

    Servers of warehouses stay for a while on purpose, and do not count either.
    """
    wanted = f"{MARK}={mark}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if wanted not in (entry / "environ").read_bytes().split(b"\0"):
                    continue
                if _SERVER not in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                continue
    return found


def wait_gone(mark: str, within_s: float) -> list[int]:
    """Wait until no marked process is left; return those that stayed."""
    deadline = time.monotonic() + within_s
    while (left := marked(mark)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def describe(pids: list[int]) -> list[str]:
    """Command lines of processes, for a message."""
    lines = []
    for pid in pids:
        try:
            lines.append(Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return lines
