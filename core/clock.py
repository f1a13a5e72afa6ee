"""Clocks: wall time is UTC and aware, durations are monotonic."""

import time
from datetime import UTC, datetime


def utc_now() -> datetime:
    """Return the present instant, aware, in UTC."""
    return datetime.now(UTC)


class Stopwatch:
    """Seconds since it was made."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    @property
    def seconds(self) -> float:
        """Elapsed monotonic time in seconds."""
        return time.monotonic() - self._start
