"""How often a service may be asked."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

# Buildkite's limit for all REST clients of an organisation together.
REST_REQUESTS_PER_MINUTE = 200


@dataclass(frozen=True, slots=True)
class Ticker:
    """Monotonic seconds, and a way to let some pass."""

    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


class RateLimiter:
    """Lets through at most ``limit`` requests in any ``window_s`` seconds.

    A bucket that refills while it is drawn from would let through up to twice as many in one of
    the service's own windows, so the times of the last requests are kept instead.
    """

    def __init__(
        self,
        limit: int = REST_REQUESTS_PER_MINUTE,
        *,
        window_s: float = 60.0,
        ticker: Ticker | None = None,
    ) -> None:
        self._window_s = window_s
        self._ticker = ticker or Ticker()
        self._sent: deque[float] = deque(maxlen=limit)
        self._closed_until = float("-inf")

    def wait_s(self) -> float:
        """Seconds until the next request may be sent; 0 where it may be sent now."""
        now = self._ticker.monotonic()
        opens = self._closed_until
        if len(self._sent) == self._sent.maxlen:
            opens = max(opens, self._sent[0] + self._window_s)
        return max(0.0, opens - now)

    def count(self) -> None:
        """Note that a request is sent now."""
        self._sent.append(self._ticker.monotonic())

    def close_for(self, seconds: float) -> None:
        """Let nothing through for a while: the service said so."""
        until = self._ticker.monotonic() + seconds
        self._closed_until = max(self._closed_until, until)
