"""Buildkite's webhooks: a plain ASGI application that answers when an event is safe.

    POST /buildkite   200 stored, or nothing to store; 400 no event; 401 not from Buildkite, or
                      not from now; 408 too slow; 409 taken already; 413 too large; 503 not stored
    GET  /health      200, and how many requests ended how

Buildkite sends an event again after any answer but 200. Nothing of a request is ever logged, only
why it was refused.
"""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gauntlet.core.clock import utc_now
from gauntlet.core.errors import ExternalServiceError, InfrastructureError
from gauntlet.warehouse.buildkite.mapping import Source, map_event
from gauntlet.warehouse.buildkite.signatures import Remembered, Verifier, mark_of
from gauntlet.warehouse.buildkite.sync import Sink, batch_of

MAX_BODY_BYTES = 5 << 20
_BODY_TIMEOUT_S = 15.0
_LOGGER = logging.getLogger(__name__)

# The types of the ASGI specification; its messages are plain dictionaries by design.
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Reply:
    """How a request ends: the status, and one word that is counted and sent."""

    status: int
    outcome: str
    detail: str = ""


class _RefusedError(Exception):
    """A request that ends before its event is looked at."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.outcome)
        self.reply = reply


class WebhookApp:
    """The application; ``counts`` are requests by outcome since it started."""

    def __init__(
        self,
        *,
        secret: str,
        sink: Sink,
        now: Callable[[], datetime] = utc_now,
        remembered: Remembered | None = None,
        body_timeout_s: float = _BODY_TIMEOUT_S,
    ) -> None:
        """Take events that are signed with ``secret`` and bring their rows into ``sink``.

        The sink is called from one thread at a time.
        """
        self.counts: Counter[str] = Counter()
        self._verifier = Verifier(secret)
        self._sink = sink
        self._now = now
        self._remembered = remembered or Remembered()
        self._body_timeout_s = body_timeout_s
        self._one_at_a_time = asyncio.Lock()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one connection, as ASGI has it."""
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        if scope["type"] != "http":
            return
        match scope["method"], scope["path"]:
            case "GET", "/health":
                await _answer(send, 200, {"status": "ok", "counts": dict(self.counts)})
                return
            case "POST", "/buildkite":
                reply = await self._receive(scope, receive)
            case _, "/health" | "/buildkite":
                reply = Reply(405, "method")
            case _:
                reply = Reply(404, "address")
        self.counts[reply.outcome] += 1
        if reply.status >= 400:
            _LOGGER.warning("webhook refused: %d %s %s", reply.status, reply.outcome, reply.detail)
        await _answer(send, reply.status, {"outcome": reply.outcome, "detail": reply.detail})

    async def _receive(self, scope: Message, receive: Receive) -> Reply:
        headers: dict[bytes, bytes] = {name.lower(): value for name, value in scope["headers"]}
        try:
            async with asyncio.timeout(self._body_timeout_s):
                body = await _body(headers, receive)
            now = self._now()
            if objection := self._verifier.objection(headers, body, now):
                return Reply(401, "unverified", objection)
            name, event = _event(body)
        except TimeoutError:
            return Reply(408, "slow")
        except _RefusedError as refused:
            return refused.reply
        mark = mark_of(headers, body)
        if not self._remembered.take(mark, now):
            return Reply(409, "repeated", "this request was taken already")
        reply = None
        try:
            reply = await self._take(name, event, now)
        finally:
            if reply is None or reply.status != 200:
                self._remembered.give_back(mark)
        return reply

    async def _take(self, name: str, event: Mapping[str, object], now: datetime) -> Reply:
        if name == "ping":
            return Reply(200, "ping")
        if not name.startswith(("build.", "job.")):
            return Reply(200, "ignored")
        source = Source(address=f"webhook {name}", pipeline=None, whole=False)
        batch = batch_of(map_event(event, source=source, now=now).rows, now)
        try:
            async with self._one_at_a_time:
                await asyncio.to_thread(self._sink, batch)
        except (InfrastructureError, ExternalServiceError, OSError) as error:
            # Not passed on: the next event may find room again, and Buildkite keeps this one.
            _LOGGER.error("cannot store a webhook: %s", error)  # noqa: TRY400
            return Reply(503, "not stored", "try again")
        return Reply(200, "stored")


async def _body(headers: Mapping[bytes, bytes], receive: Receive) -> bytes:
    """Read a body up to the limit, whatever length it claims."""
    length = headers.get(b"content-length", b"")
    too_large = _RefusedError(Reply(413, "too large", f"more than {MAX_BODY_BYTES} bytes"))
    if length.isdigit() and int(length[:20]) > MAX_BODY_BYTES:
        raise too_large
    data = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _RefusedError(Reply(400, "cut off"))
        data += message.get("body", b"")
        if len(data) > MAX_BODY_BYTES:
            raise too_large
        if not message.get("more_body", False):
            return bytes(data)


def _event(body: bytes) -> tuple[str, Mapping[str, object]]:
    """Return an event and its name."""
    try:
        event = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _RefusedError(Reply(400, "malformed", "the body is no JSON")) from error
    name = event.get("event") if isinstance(event, Mapping) else None
    if not isinstance(name, str):
        raise _RefusedError(Reply(400, "malformed", "the body has no event"))
    return name, event


async def _live(receive: Receive, send: Send) -> None:
    """Say yes to the server's start and stop."""
    while True:
        kind = (await receive())["type"]
        await send({"type": f"{kind}.complete"})
        if kind == "lifespan.shutdown":
            return


async def _answer(send: Send, status: int, value: Mapping[str, object]) -> None:
    body = json.dumps(value).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
