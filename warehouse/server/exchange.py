"""One request and its answer on the wire: the only place that knows ASGI's messages."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, MutableMapping
from pathlib import Path
from typing import Any

from gauntlet.warehouse.server import body
from gauntlet.warehouse.server.protocol import (
    SERVER_NAME,
    RefusedError,
    exception_block,
    exception_tag,
)

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

# What is decoded and written at once: few changes of thread, and little memory.
_BATCH_BYTES = 256 << 10
# What takes less time to write than to hand to a thread.
_SMALL_BYTES = 64 << 10


class ClientGoneError(Exception):
    """The client left before its request was whole, or before it had its answer."""


class Exchange:
    """Receives one request's body, and sends one answer."""

    def __init__(self, scope: Message, receive: Receive, send: Send) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query_string: bytes = scope["query_string"]
        self.headers: list[tuple[bytes, bytes]] = list(scope["headers"])
        self._receive = receive
        self._send = send
        self._tag = exception_tag()
        self._started = False

    async def body(self, encoding: str | None, scratch: Path) -> body.Spool:
        """Receive and decode the whole body.

        Raises ClientGoneError where its end never comes, RefusedError where it cannot be decoded
        or kept.
        """
        spool = body.new_spool(scratch)
        try:
            decoder = body.decoder(encoding)

            def keep(data: bytes) -> None:
                for piece in decoder.feed(data):
                    body.store(spool, piece)

            async for batch in self._batches():
                if encoding is None and len(batch) <= _SMALL_BYTES:
                    keep(batch)
                else:
                    await asyncio.to_thread(keep, batch)
            decoder.finish()
        except BaseException:
            spool.close()
            raise
        spool.seek(0)
        return spool

    async def _batches(self) -> AsyncIterator[bytes]:
        batch = bytearray()
        more = True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientGoneError
            batch += message.get("body", b"")
            more = message.get("more_body", False)
            if batch and (len(batch) >= _BATCH_BYTES or not more):
                yield bytes(batch)
                batch.clear()

    async def while_here(self, work: Coroutine[Any, Any, None]) -> None:
        """Do the work of the answer; give it up when the client leaves. The body is received."""
        task = asyncio.create_task(work)
        gone = asyncio.create_task(self._gone())
        try:
            await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            task.cancel()
            gone.cancel()
            await asyncio.gather(task, gone, return_exceptions=True)
        if task.cancelled():
            raise ClientGoneError
        await task

    async def _gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the head of the answer."""
        every = {
            "X-ClickHouse-Server-Display-Name": SERVER_NAME,
            "X-ClickHouse-Exception-Tag": self._tag,
            **headers,
        }
        encoded = [(name.encode(), value.encode("latin-1")) for name, value in every.items()]
        self._started = True
        await self._send({"type": "http.response.start", "status": status, "headers": encoded})

    async def write(self, data: bytes, *, last: bool = False) -> None:
        """Send a part of the answer, at the speed of the client."""
        await self._send({"type": "http.response.body", "body": data, "more_body": not last})

    async def answer(self, status: int, data: bytes, headers: Mapping[str, str]) -> None:
        """Send a short answer as a whole."""
        await self.begin(status, {**headers, "Content-Length": str(len(data))})
        await self.write(data, last=True)

    async def refuse(self, error: RefusedError, headers: Mapping[str, str]) -> None:
        """Send an error: as the answer, or as the end of one that has begun.

        An answer that has begun is left without its end, so that nobody takes it for a whole one,
        also where a client does not know the mark.
        """
        if self._started:
            await self.write(exception_block(self._tag, error.text))
            return
        text = f"{error.text}\n".encode(errors="backslashreplace")
        code = {"X-ClickHouse-Exception-Code": str(error.code)}
        plain = {"Content-Type": "text/plain; charset=UTF-8"}
        await self.answer(error.status, text, {**headers, **plain, **code})
