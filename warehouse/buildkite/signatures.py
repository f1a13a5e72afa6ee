"""Whether a webhook comes from Buildkite, now, and for the first time."""

import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime
from typing import Literal

SIGNATURE_HEADER = b"x-buildkite-signature"
TOKEN_HEADER = b"x-buildkite-token"
# How far the time of a signature may lie from ours, either way.
TOLERANCE_S = 300
# Some ten minutes of the busiest organisation; older ones are forgotten before their time.
MAX_REMEMBERED = 100_000

Reason = Literal[
    "no signature",
    "the signature cannot be read",
    "the signature is wrong",
    "the token is wrong",
    "the time of the signature is more than 5 minutes off",
]


class Verifier:
    """Checks the headers of a request against one secret."""

    def __init__(self, secret: str) -> None:
        """Check against the webhook's token, which also is the key of its signatures.

        Raises ValueError for an empty one, which everybody knows.
        """
        if not secret:
            msg = "the secret of a webhook cannot be empty"
            raise ValueError(msg)
        self._secret = secret.encode()

    def objection(
        self, headers: Mapping[bytes, bytes], body: bytes, now: datetime
    ) -> Reason | None:
        """Say why a request is not to be believed; None where it is.

        A request with a signature is judged by that alone. A plain token says nothing of when the
        request was made, so that an old one cannot be told from a new one.
        """
        signature = headers.get(SIGNATURE_HEADER)
        if signature is not None:
            return self._check_signature(signature, body, now)
        token = headers.get(TOKEN_HEADER)
        if token is None:
            return "no signature"
        return None if hmac.compare_digest(token, self._secret) else "the token is wrong"

    def _check_signature(self, header: bytes, body: bytes, now: datetime) -> Reason | None:
        pairs = (part.partition(b"=") for part in header.split(b","))
        parts = {name.strip(): value.strip() for name, _, value in pairs}
        timestamp, given = parts.get(b"timestamp", b""), parts.get(b"signature", b"")
        if not (timestamp.isdigit() and len(timestamp) <= 12 and given):
            return "the signature cannot be read"
        expected = hmac.new(self._secret, timestamp + b"." + body, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(expected.encode(), given.lower()):
            return "the signature is wrong"
        if abs(now.timestamp() - int(timestamp)) > TOLERANCE_S:
            return "the time of the signature is more than 5 minutes off"
        return None


class Remembered:
    """Requests that were taken lately; the same one is not taken twice.

    A signature is good from 5 minutes before its time until 5 after, so one is remembered for 10.
    """

    def __init__(self, limit: int = MAX_REMEMBERED) -> None:
        self._limit = limit
        self._taken: dict[bytes, float] = {}

    def __len__(self) -> int:
        return len(self._taken)

    def take(self, mark: bytes, now: datetime) -> bool:
        """Remember a request by its mark; False where it was taken already."""
        at = now.timestamp()
        self._forget(at)
        if mark in self._taken:
            return False
        if len(self._taken) >= self._limit:
            del self._taken[next(iter(self._taken))]
        self._taken[mark] = at
        return True

    def give_back(self, mark: bytes) -> None:
        """Forget a request that could not be kept, so that Buildkite may send it again."""
        self._taken.pop(mark, None)

    def _forget(self, at: float) -> None:
        while self._taken:
            oldest = next(iter(self._taken))
            if at - self._taken[oldest] <= 2 * TOLERANCE_S:
                return
            del self._taken[oldest]


def mark_of(headers: Mapping[bytes, bytes], body: bytes) -> bytes:
    """What makes a request the same request: its signature, or without one its body."""
    return headers.get(SIGNATURE_HEADER) or hashlib.sha256(body).digest()
