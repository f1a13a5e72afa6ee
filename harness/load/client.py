"""The load client: sends planned requests and stamps every read, and does nothing else.

Stamps are taken when the socket is read and parsing waits until the load is over, because each
microsecond spent per token here would be reported as the server's. Connections are opened before
the clock starts. One event loop in one process.
"""

import asyncio
import contextlib
import gc
import socket
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httptools
import uvloop

from gauntlet.harness.load.requests import PlannedRequest
from gauntlet.perf_eval.recipe import Deadlines

CLIENT_NAME = "gauntlet-load"
_WATCH_S = 0.02
ResultT = TypeVar("ResultT")


@dataclass(slots=True)
class Exchange:
    """Raw log of one request; times are ``perf_counter`` seconds.

    ``reads`` holds each piece of the response body with the time at which it was read.
    ``failure`` is empty where the response ended by itself.
    """

    request: PlannedRequest
    scheduled: float | None = None
    sent: float = 0.0
    ended: float = 0.0
    status: int | None = None
    reads: list[tuple[float, bytes]] = field(default_factory=list)
    failure: str = ""
    last_read: float = 0.0


@dataclass(frozen=True, slots=True)
class LoadLog:
    """Everything that one load left behind: raw exchanges and how late the client itself was.

    ``lag_s`` are delays of the client's own timer, in seconds: what it could not see in time.
    """

    started: float
    ended: float
    exchanges: list[Exchange]
    lag_s: list[float]


@dataclass(frozen=True, slots=True)
class Target:
    """Where the requests go."""

    host: str
    port: int
    path: str = "/v1/completions"


class _Connection(asyncio.Protocol):
    """One keep-alive connection that carries one exchange at a time."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.usable = False
        self.exchange: Exchange | None = None
        self._parser: Any = None
        self._done: asyncio.Future[None] | None = None
        self._now = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        self.usable = True

    def data_received(self, data: bytes) -> None:
        self._now = time.perf_counter()
        if self.exchange is None:
            return
        self.exchange.last_read = self._now
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self.abort("protocol-error")

    def on_headers_complete(self) -> None:
        if self.exchange is not None:
            self.exchange.status = self._parser.get_status_code()

    def on_body(self, body: bytes) -> None:
        if self.exchange is not None:
            self.exchange.reads.append((self._now, body))

    def on_message_complete(self) -> None:
        self.usable = bool(self._parser.should_keep_alive())
        self._finish("")

    def connection_lost(self, exc: Exception | None) -> None:
        self.usable = False
        self._finish("connection-reset" if exc else "connection-closed")

    def abort(self, failure: str) -> None:
        """Give up the exchange in flight, and the connection with it."""
        self.usable = False
        self._finish(failure)
        if self.transport is not None:
            self.transport.abort()

    async def perform(self, exchange: Exchange, head: bytes) -> None:
        """Send one request and wait until its response ended, one way or another."""
        assert self.transport is not None  # noqa: S101 - made before it is handed out
        self._parser = httptools.HttpResponseParser(self)
        self._done = asyncio.get_running_loop().create_future()
        self.exchange = exchange
        payload = head % len(exchange.request.body) + exchange.request.body
        exchange.sent = exchange.last_read = time.perf_counter()
        self.transport.write(payload)
        await self._done

    def _finish(self, failure: str) -> None:
        exchange, self.exchange = self.exchange, None
        if exchange is not None:
            exchange.ended = time.perf_counter()
            exchange.failure = failure
        if self._done is not None and not self._done.done():
            self._done.set_result(None)


class _Loader:
    """One load: its connections, its exchanges in flight and the watch over them."""

    def __init__(self, target: Target, deadlines: Deadlines) -> None:
        self._target = target
        self._deadlines = deadlines
        self._head = (
            f"POST {target.path} HTTP/1.1\r\nHost: {target.host}:{target.port}\r\n"
            "Content-Type: application/json\r\nAccept: text/event-stream\r\n"
            "Authorization: Bearer EMPTY\r\nContent-Length: %d\r\n\r\n"
        ).encode()
        self._idle: list[_Connection] = []
        self._busy: set[_Connection] = set()
        self.exchanges: list[Exchange] = []
        self.lag_s: list[float] = []

    async def preconnect(self, count: int) -> None:
        made = await asyncio.gather(*(self._connect() for _ in range(count)))
        self._idle += [connection for connection in made if connection is not None]

    async def send(self, request: PlannedRequest, scheduled: float | None = None) -> None:
        exchange = Exchange(request, scheduled=scheduled)
        self.exchanges.append(exchange)
        connection = self._take() or await self._connect()
        if connection is None:
            exchange.sent = exchange.ended = time.perf_counter()
            exchange.failure = "refused"
            return
        self._busy.add(connection)
        try:
            await connection.perform(exchange, self._head)
        finally:
            self._busy.discard(connection)
        if connection.usable:
            self._idle.append(connection)

    async def watch(self) -> None:
        """Enforce the deadlines, and note how late this very timer is."""
        loop = asyncio.get_running_loop()
        due = loop.time() + _WATCH_S
        while True:
            await asyncio.sleep(max(0.0, due - loop.time()))
            self.lag_s.append(max(0.0, loop.time() - due))
            due = max(due + _WATCH_S, loop.time())
            now = time.perf_counter()
            for connection in list(self._busy):
                exchange = connection.exchange
                if exchange is None:
                    continue
                if now - exchange.sent > self._deadlines.total_s:
                    connection.abort("deadline")
                elif now - exchange.last_read > self._deadlines.idle_s:
                    connection.abort("stalled")

    def close(self) -> None:
        for connection in [*self._idle, *self._busy]:
            connection.abort("cancelled")

    def _take(self) -> _Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.usable:
                return connection
        return None

    async def _connect(self) -> _Connection | None:
        loop = asyncio.get_running_loop()
        try:
            _, connection = await loop.create_connection(
                _Connection, self._target.host, self._target.port, family=socket.AF_INET
            )
        except OSError:
            return None
        return connection


async def closed_loop(
    target: Target, requests: Sequence[PlannedRequest], concurrency: int, deadlines: Deadlines
) -> LoadLog:
    """Keep ``concurrency`` streams busy until every request was sent once."""
    queue = iter(requests)

    async def stream(loader: _Loader) -> None:
        for request in queue:
            await loader.send(request)

    async def load(loader: _Loader) -> None:
        await asyncio.gather(*(stream(loader) for _ in range(concurrency)))

    return await _loaded(target, deadlines, min(concurrency, len(requests)), load)


async def open_loop(
    target: Target, requests: Sequence[PlannedRequest], deadlines: Deadlines
) -> LoadLog:
    """Send each request at its own time, however many are still open."""

    async def load(loader: _Loader) -> None:
        loop = asyncio.get_running_loop()
        start, stamp = loop.time(), time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for request in requests:
                at_s = request.at_s or 0.0
                # Against one anchor, so that lateness never adds up.
                await asyncio.sleep(max(0.0, start + at_s - loop.time()))
                group.create_task(loader.send(request, stamp + at_s))

    return await _loaded(target, deadlines, min(len(requests), 64), load)


async def _loaded(
    target: Target,
    deadlines: Deadlines,
    connections: int,
    load: Callable[[_Loader], Coroutine[Any, Any, None]],
) -> LoadLog:
    loader = _Loader(target, deadlines)
    await loader.preconnect(connections)
    watch = asyncio.create_task(loader.watch())
    started = time.perf_counter()
    try:
        await load(loader)
    finally:
        ended = time.perf_counter()
        watch.cancel()
        loader.close()
        with contextlib.suppress(asyncio.CancelledError):
            await watch
    return LoadLog(started, ended, loader.exchanges, loader.lag_s)


def run_load(work: Coroutine[Any, Any, ResultT]) -> ResultT:
    """Run one load to its end on a fresh uvloop, with the garbage collector held still."""
    with _no_collection(), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
