"""The port behind which engines run: as processes, containers, pods, or somewhere else."""

import signal
from dataclasses import dataclass
from typing import Protocol

TAIL_LINES = 12
# What a death is judged by: the cause often stands far above the last lines.
JUDGED_LINES = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a server listens."""

    host: str
    port: int
    scheme: str = "http"

    @property
    def url(self) -> str:
        """Root URL, without a trailing slash."""
        return f"{self.scheme}://{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How an engine ended: its exit status where there is one, and what the platform said of it."""

    status: int | None
    reason: str = ""

    @property
    def signal_name(self) -> str | None:
        """Name of the signal that ended it, by the convention of 128 + its number."""
        if self.status is None or self.status <= 128:
            return None
        try:
            return signal.Signals(self.status - 128).name
        except ValueError:
            return None

    def __str__(self) -> str:
        words = [] if self.status is None else [f"with status {self.status}"]
        details = ", ".join(filter(None, (self.signal_name, self.reason)))
        return " ".join([*words, f"({details})"] if details else words) or "without a status"


class Runtime(Protocol):
    """One engine somewhere. Every call is bounded; ``ended`` is asked several times a second."""

    def start(self) -> None:
        """Start it, without waiting for it. Raises InfrastructureError where that is refused."""

    def answered(self) -> None:
        """Take note that the server has answered a request: from now on, silence means an end."""

    def ended(self) -> Ended | None:
        """How it ended, None while it runs or cannot be seen for the moment."""

    def address(self) -> Address | None:
        """Where it listens, None while that is not known yet."""

    def progress(self) -> str:
        """What is missing before it can listen, in words; empty where nothing is known."""

    def log_tail(self, lines: int = TAIL_LINES) -> str:
        """Return the last lines of what it wrote, empty where that cannot be seen."""

    def stop(self) -> None:
        """Stop it and all it started: politely, then by force. Safe to call again."""

    @property
    def root_pid(self) -> int | None:
        """Its first process on this machine, None where there is none."""

    @property
    def image_digest(self) -> str | None:
        """Digest of the image that really runs, None where there is none."""

    @property
    def log_problem(self) -> str | None:
        """Why its log is incomplete, None where it is not."""
