"""The load over TLS or through a proxy: the same plan, sent by aiohttp.

Slower per token than the plain worker (about 20 microseconds of it against 8), and without the
kernel's stamps; the log says so. ``python -m gauntlet.harness.load.slow_worker FOLDER NUMBER``.
"""

import asyncio
import gc
import itertools
import json
import resource
import signal
import sys
import time
from pathlib import Path

import aiohttp
import uvloop

from gauntlet.harness.load.event_log import EventLog
from gauntlet.harness.load.plan import BYTES, EVENTS, READY, REQUESTS, SUMMARY, WorkerPlan
from gauntlet.harness.load.wire import Kind, Outcome
from gauntlet.harness.load.worker import clock_offset, wait_for_go

_SECOND = 1e9


class SlowWorker:
    """One share of a load over aiohttp."""

    def __init__(self, plan: WorkerPlan, requests: bytes, log: EventLog) -> None:
        self._plan = plan
        self._requests = requests
        self._log = log
        self._gate = asyncio.Semaphore(plan.max_in_flight or max(1, len(plan.chains)))
        self._task: asyncio.Task[None] | None = None
        self.stopping = False

    def stop(self) -> None:
        """End as soon as may be."""
        self.stopping = True
        if self._task is not None:
            self._task.cancel()

    async def run(self, start_ns: int) -> None:
        """Send everything from ``start_ns`` of the monotonic clock on."""
        self._task = asyncio.current_task()
        plan = self._plan
        connector = aiohttp.TCPConnector(limit=0, ttl_dns_cache=3600)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=plan.limits.connect_ns / _SECOND)
        async with aiohttp.ClientSession(
            connector=connector, timeout=timeout, read_bufsize=1 << 20
        ) as session:
            try:
                async with asyncio.timeout(plan.limits.load_ns / _SECOND):
                    if plan.due_ns:
                        await self._open_loop(session, start_ns)
                    else:
                        await self._closed_loop(session, start_ns)
            except TimeoutError:
                self.stopping = True
            except asyncio.CancelledError:
                if not self.stopping:
                    raise

    async def _open_loop(self, session: aiohttp.ClientSession, start_ns: int) -> None:
        async with asyncio.TaskGroup() as group:
            for chain, due in enumerate(self._plan.due_ns):
                await _sleep_until(start_ns + due)
                group.create_task(self._chain(session, chain))

    async def _closed_loop(self, session: aiohttp.ClientSession, start_ns: int) -> None:
        chains = itertools.count()

        async def stream(stagger_ns: int) -> None:
            await _sleep_until(start_ns + stagger_ns)
            while (chain := next(chains)) < len(self._plan.chains):
                await self._chain(session, chain)

        async with asyncio.TaskGroup() as group:
            for stagger_ns in self._plan.stagger_ns:
                group.create_task(stream(stagger_ns))

    async def _chain(self, session: aiohttp.ClientSession, chain: int) -> None:
        failed = False
        for turn, position in enumerate(self._plan.chains[chain]):
            index, offset, length, think_ns = self._plan.requests[position]
            if failed:
                self._log.note(Kind.ENDED, index, time.monotonic_ns(), outcome=Outcome.CANCELLED)
                continue
            if turn and think_ns:
                await asyncio.sleep(think_ns / _SECOND)
            async with self._gate:
                outcome = await self._request(session, index, offset, length)
            failed = outcome is not Outcome.COMPLETE

    async def _request(
        self, session: aiohttp.ClientSession, index: int, offset: int, length: int
    ) -> Outcome:
        head, _, body = self._requests[offset : offset + length].partition(b"\r\n\r\n")
        path = head.split(b" ", 2)[1].decode()
        fields = [line.split(b": ", 1) for line in head.split(b"\r\n")[1:]]
        headers = {
            name.decode(): value.decode()
            for name, value in fields
            if name not in {b"Host", b"Content-Length"}
        }
        plan = self._plan
        host = f"[{plan.host}]" if ":" in plan.host else plan.host
        url = f"{plan.scheme}://{host}:{plan.port}{path}"
        self._log.note(Kind.SENT, index, time.monotonic_ns())
        status = 0
        try:
            async with (
                asyncio.timeout(plan.limits.total_ns / _SECOND),
                session.post(url, data=body, headers=headers, proxy=plan.proxy) as response,
            ):
                status = response.status
                await self._read(response, index)
        except BaseException as error:
            known = _outcome_of(error)
            self._ended(index, known or Outcome.CANCELLED, status)
            if known is None:
                raise
            return known
        self._ended(index, Outcome.COMPLETE, status)
        return Outcome.COMPLETE

    async def _read(self, response: aiohttp.ClientResponse, index: int) -> None:
        idle_s = self._plan.limits.idle_ns / _SECOND
        while True:
            try:
                async with asyncio.timeout(idle_s):
                    data = await response.content.readany()
            except TimeoutError as error:
                raise _StalledError from error
            if not data:
                return
            self._log.append(index, data, time.monotonic_ns())

    def _ended(self, index: int, outcome: Outcome, status: int) -> None:
        self._log.note(Kind.ENDED, index, time.monotonic_ns(), outcome=outcome, status=status)


class _StalledError(Exception):
    """Nothing was read for too long."""


def _outcome_of(error: BaseException) -> Outcome | None:
    """Class of what ended a request; None where it is not the request's affair."""
    table: tuple[tuple[type[BaseException], Outcome], ...] = (
        (_StalledError, Outcome.STALLED),
        (aiohttp.ConnectionTimeoutError, Outcome.CONNECT_TIMEOUT),
        (TimeoutError, Outcome.DEADLINE),
        (aiohttp.ClientConnectorError, Outcome.REFUSED),
        (aiohttp.ClientHttpProxyError, Outcome.REFUSED),
        (aiohttp.ClientPayloadError, Outcome.CONNECTION_CLOSED),
        (aiohttp.ServerDisconnectedError, Outcome.CONNECTION_CLOSED),
        (ConnectionError, Outcome.CONNECTION_RESET),
        (aiohttp.ClientOSError, Outcome.CONNECTION_RESET),
        (aiohttp.ClientError, Outcome.PROTOCOL_ERROR),
    )
    return next((outcome for kind, outcome in table if isinstance(error, kind)), None)


async def _sleep_until(due_ns: int) -> None:
    await asyncio.sleep(max(0.0, (due_ns - time.monotonic_ns()) / _SECOND))


def main(folder: Path, number: int) -> int:
    """Do the share of worker ``number``; 0 where the log is complete, 74 where it is not."""
    plan = WorkerPlan.read(folder, number)
    requests = (folder / REQUESTS).read_bytes()
    log = EventLog(folder / EVENTS.format(worker=number), folder / BYTES.format(worker=number))
    offsets = [clock_offset()]
    cpu_before = time.process_time()

    async def load() -> int:
        worker = SlowWorker(plan, requests, log)
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, worker.stop)
        (folder / READY.format(worker=number)).touch()
        start_ns = await asyncio.to_thread(wait_for_go, folder, lambda: worker.stopping)
        if start_ns:
            await worker.run(start_ns)
        return start_ns

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    gc.disable()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        start_ns = runner.run(load())
    failure = log.close()
    summary = {
        "started_ns": start_ns,
        "ended_ns": time.monotonic_ns(),
        "realtime_offset_ns": [*offsets, clock_offset()],
        "cpu_s": time.process_time() - cpu_before,
        "peak_rss_kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        "failure": failure,
        "framing": "body",
    }
    (folder / SUMMARY.format(worker=number)).write_text(json.dumps(summary), encoding="ascii")
    return 74 if failure else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2])))
