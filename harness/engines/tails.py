"""Ends of log files."""

from pathlib import Path

_BYTES = 256 << 10


def file_tail(path: Path, lines: int) -> str:
    """Return the last lines of a file, read from at most its last 256 KiB; empty without a file."""
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, path.stat().st_size - _BYTES))
            text = stream.read(_BYTES).decode(errors="replace")
    except OSError:
        return ""
    return "\n".join(text.rstrip().splitlines()[-lines:])
