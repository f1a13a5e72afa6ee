"""Find processes by a mark in their environment, so that a test sees its own and no others."""

import time
from pathlib import Path

MARK = "GAUNTLET_TEST_MARK"


def marked(mark: str) -> list[int]:
    """Process ids whose environment carries the mark; zombies have none and do not count."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
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
