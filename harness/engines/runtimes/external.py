"""A server that is somebody else's: nothing is started, and nothing is ever stopped."""

import contextlib
import socket
import time
from urllib.parse import urlsplit

from gauntlet.core.errors import UsageError
from gauntlet.harness.engines.runtime import TAIL_LINES, Address, Ended

_KNOCK_TIMEOUT_S = 0.5
_KNOCK_EVERY_S = 0.5
# One refusal may be a full backlog; a second half a second later is not.
_REFUSALS = 2
_PORTS = {"http": 80, "https": 443}


def read_url(url: str) -> Address:
    """Read ``http://host:port``. Raises UsageError for anything that is not such a root URL."""
    hint = "give the root of the server, such as http://127.0.0.1:8000"
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError as error:
        raise UsageError(f"bad URL {url!r}: {error}", hint=hint) from error
    if port is None or not parts.hostname:
        raise UsageError(f"bad URL {url!r}: http or https and a host are needed", hint=hint)
    if parts.path.strip("/") or parts.query or parts.username:
        raise UsageError(f"bad URL {url!r}: no path, query or credentials here", hint=hint)
    return Address(host=parts.hostname, port=port, scheme=parts.scheme)


class ExternalRuntime:
    """Adapter for a running server; its death is a port that refuses connections."""

    root_pid: int | None = None
    image_digest: str | None = None
    log_problem: str | None = None

    def __init__(self, url: str) -> None:
        self._address = read_url(url)
        self._next_knock_s = 0.0
        self._was_there = False
        self._refused = 0

    def start(self) -> None:
        """Do nothing: it runs already."""

    def answered(self) -> None:
        """Take note that somebody is there."""
        self._was_there = True

    def ended(self) -> Ended | None:
        """Knock at most twice a second; what was there and refuses twice in a row has ended."""
        now = time.monotonic()
        if now >= self._next_knock_s and self._refused < _REFUSALS:
            self._next_knock_s = now + _KNOCK_EVERY_S
            self._knock()
        if self._was_there and self._refused >= _REFUSALS:
            return Ended(status=None, reason="connections are refused")
        return None

    def address(self) -> Address | None:
        """Where it was said to be."""
        return self._address

    def progress(self) -> str:
        """Nothing is known of it."""
        return ""

    def log_tail(self, lines: int = TAIL_LINES) -> str:  # noqa: ARG002 - the port's signature
        """Its log cannot be seen."""
        return ""

    def stop(self) -> None:
        """Do nothing: it is not ours."""

    def _knock(self) -> None:
        refused = False
        # No answer in time is a slow server or network; only a refusal is an end.
        with contextlib.suppress(OSError):
            try:
                where = (self._address.host, self._address.port)
                socket.create_connection(where, timeout=_KNOCK_TIMEOUT_S).close()
            except ConnectionRefusedError:
                refused = True
        self._refused = self._refused + 1 if refused and self._was_there else 0
