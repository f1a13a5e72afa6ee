"""The server as an ASGI application: who may ask, in what order, and how an answer is sent."""

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from gauntlet.warehouse.server import body, protocol
from gauntlet.warehouse.server.engine import Engine, Run
from gauntlet.warehouse.server.exchange import ClientGoneError, Exchange, Message, Receive, Send
from gauntlet.warehouse.server.job import Job, read_job
from gauntlet.warehouse.server.protocol import RefusedError, refusal

_LOGGER = logging.getLogger(__name__)
WORKERS = 8
_KILL_AGAIN_S = 0.1

ResultT = TypeVar("ResultT")


class App:
    """Answers requests, ``workers`` statements at once; more of them wait for their turn."""

    def __init__(self, engine: Engine, token: str, *, ident: str, workers: int = WORKERS) -> None:
        self._engine = engine
        self._token = token
        self._standing = {
            "X-ClickHouse-Timezone": engine.timezone,
            protocol.IDENT_HEADER: ident,
        }
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="statement")
        self._turns = asyncio.Semaphore(workers)
        self._running = 0
        self._last_s = time.monotonic()
        self.draining = False

    @property
    def idle_s(self) -> float:
        """Seconds since the last request ended; 0 while one runs."""
        return 0.0 if self._running else time.monotonic() - self._last_s

    def close(self) -> None:
        """Wait for the statements that still run, and let their threads end."""
        self._threads.shutdown()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request; never raise what the client or its statement did wrong."""
        exchange = Exchange(scope, receive, send)
        try:
            if self.draining:
                raise refusal(protocol.ABORTED, "the server is about to end")
            given = protocol.credential(exchange.headers)
            # A probe without a key may ask whether anybody is here, but keeps nobody awake.
            anonymous_ping = given is None and exchange.path == "/ping"
            if not anonymous_ping and not protocol.matches(given, self._token):
                raise refusal(protocol.AUTHENTICATION_FAILED, "the key is wrong or missing")
            if not anonymous_ping:
                self._running += 1
            try:
                await self._route(exchange)
            finally:
                if not anonymous_ping:
                    self._running -= 1
                    self._last_s = time.monotonic()
        except asyncio.CancelledError:
            await exchange.refuse(refusal(protocol.ABORTED, "the server ends"), self._standing)
            raise
        except ClientGoneError:
            _LOGGER.debug("a client left before its answer")
        except RefusedError as error:
            await exchange.refuse(error, self._standing)
        except Exception as error:
            # A fault of ours: the client gets an error as from the engine, the log all of it.
            _LOGGER.exception("cannot answer a request")
            unexpected = refusal(protocol.UNKNOWN_EXCEPTION, f"{type(error).__name__}: {error}")
            await exchange.refuse(unexpected, self._standing)

    async def _route(self, exchange: Exchange) -> None:
        if exchange.path == "/ping":
            await exchange.answer(200, b"Ok.\n", self._standing)
        elif exchange.path == "/":
            await self._query(exchange)
        else:
            raise refusal(protocol.BAD_ARGUMENTS, f"{exchange.path} is not served: / and /ping are")

    async def _query(self, exchange: Exchange) -> None:
        request = protocol.parse_request(exchange.method, exchange.query_string, exchange.headers)
        with await exchange.body(request.encoding, self._engine.scratch) as spool:
            job = await asyncio.to_thread(read_job, request, spool)
            if job.statement.kind.reads:
                await exchange.while_here(self._run(exchange, job))
            else:
                # What writes is carried through: half of it would be worse than all of it.
                await self._run(exchange, job)

    async def _run(self, exchange: Exchange, job: Job) -> None:
        async with self._turns:
            run = Run(self._engine, job)
            try:
                if job.request.wait or not job.statement.kind.reads:
                    await self._send_at_end(exchange, job, run)
                else:
                    await self._send_as_it_comes(exchange, job, run)
            except BaseException:
                # Whatever broke it off; a run that came to its end has closed itself.
                await asyncio.shield(self._in_thread(run.close))
                raise

    async def _send_as_it_comes(self, exchange: Exchange, job: Job, run: Run) -> None:
        # Its first piece decides what the answer is: most errors come before it.
        piece = await self._until_done(run, run.read)
        await exchange.begin(200, self._headers(job, run))
        while piece is not None:
            await exchange.write(piece)
            piece = await self._until_done(run, run.read)
        await exchange.write(b"", last=True)

    async def _send_at_end(self, exchange: Exchange, job: Job, run: Run) -> None:
        result = await self._until_done(run, run.read_all)
        await exchange.begin(200, self._headers(job, run))
        # Written a moment ago: this does not wait for a disk.
        for piece in body.pieces(result):
            await exchange.write(piece)
        run.close()
        await exchange.write(b"", last=True)

    def _headers(self, job: Job, run: Run) -> dict[str, str]:
        headers = {
            **self._standing,
            "X-ClickHouse-Query-Id": job.request.query_id,
            "X-ClickHouse-Summary": protocol.summary_header(run.counts),
        }
        if job.statement.kind.reads:
            headers["X-ClickHouse-Format"] = job.format
            headers["Content-Type"] = protocol.content_type(job.format)
        return headers

    def _in_thread(self, function: Callable[[], ResultT]) -> "asyncio.Future[ResultT]":
        return asyncio.get_running_loop().run_in_executor(self._threads, function)

    async def _until_done(self, run: Run, function: Callable[[], ResultT]) -> ResultT:
        """Await a step of a statement; when cancelled, end the statement and await that."""
        step = self._in_thread(function)
        try:
            return await asyncio.shield(step)
        except asyncio.CancelledError:
            # The statement may not have begun yet, and then there is nothing to end: ask again.
            while not step.done():
                await asyncio.to_thread(self._engine.kill, run.mark)
                await asyncio.wait({step}, timeout=_KILL_AGAIN_S)
            # That it was cancelled is no news; whatever else it says, nobody is there to hear it.
            step.exception()
            raise
