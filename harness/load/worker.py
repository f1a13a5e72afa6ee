"""The process that sends the load: ``python -m gauntlet.harness.load.worker FOLDER NUMBER``.

One thread, one epoll, plain sockets. A read is stamped twice: by the kernel when the segment
arrived and by us when we got to it; the difference is how late this client was. Nothing is parsed
beyond what tells where a response ends. Standard library and httptools only: start-up, memory and
garbage of anything else would be measured as the server's.
"""

import errno
import gc
import heapq
import itertools
import json
import mmap
import os
import resource
import select
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from gauntlet.harness.load.event_log import READ_SIZE, EventLog
from gauntlet.harness.load.plan import (
    BYTES,
    EVENTS,
    GO,
    READY,
    REQUESTS,
    SUMMARY,
    Limits,
    WorkerPlan,
)
from gauntlet.harness.load.response import Broken, Response
from gauntlet.harness.load.timerfd import Timer
from gauntlet.harness.load.wire import Kind, Outcome

_SO_TIMESTAMPNS = 35
# Told once of new bytes: else the kernel looks at every socket again that it has just named.
_EDGE = select.EPOLLIN | select.EPOLLET
_SWEEP_NS = 50_000_000
_SPARE = 8
# A head, a role and a first token come in three reads at most, as a rule.
_FIRST_READS = 3
# Streams read between two looks at what is urgent: well under a millisecond.
_BATCH = 48
_GO_POLL_S = 0.002
# A server may close a connection that was idle for a few seconds just as we write to it.
_IDLE_RACE_NS = 500_000_000


class _Connection:
    """One keep-alive connection; ``request`` is the position of what it carries, or -1."""

    __slots__ = (
        "fd", "idle_since", "index", "last_ns", "out", "reads", "ready", "receive", "request",
        "resent", "response", "sent_ns", "sock", "streaming",
    )  # fmt: skip

    def __init__(self, sock: socket.socket, now: int) -> None:
        self.sock = sock
        # Looked up once, not for every token.
        self.receive = sock.recvmsg_into
        self.fd = sock.fileno()
        self.ready = False
        self.request = self.index = -1
        self.resent = False
        self.response = Response()
        self.sent_ns = self.last_ns = self.idle_since = now
        self.out: memoryview | None = None
        # Past its first tokens, and so in the queue that may wait.
        self.streaming = False
        self.reads = 0


class Worker:
    """One share of a load, from connecting to the last deadline."""

    def __init__(self, plan: WorkerPlan, requests: memoryview, log: EventLog) -> None:
        self._plan = plan
        self._limits: Limits = plan.limits
        self._address = (plan.host, plan.port)
        self._bytes = requests
        self._log = log
        # Two queues: a token in the middle of an answer may wait for its turn, as its stamp is the
        # kernel's, but a first token that waited would share its read, and its stamp, with the
        # second. So first reads, new connections and the timer are looked at in between.
        self._urgent = select.epoll()
        self._stream = select.epoll()
        self._urgent.register(self._stream.fileno(), select.EPOLLIN)
        self._timer = Timer()
        self._urgent.register(self._timer.fd, select.EPOLLIN)
        self._connections: dict[int, _Connection] = {}
        self._idle: deque[_Connection] = deque()
        self._busy: set[_Connection] = set()
        # Chains whose turn has come but which have no connection yet, or no room.
        self._waiting: deque[int] = deque()
        self._next_chain = 0
        self._position = [0] * len(plan.chains)
        self._chain_of = {
            position: chain for chain, turns in enumerate(plan.chains) for position in turns
        }
        self._due: list[tuple[int, int, int]] = []
        self._sequence = itertools.count()
        self._open_chains = 0
        self._next_sweep = 0
        self._stopping = False
        self.started_ns = 0

    def connect(self) -> None:
        """Open the connections that the plan asks for, and wait for them."""
        for _ in range(self._plan.preconnect):
            self._open()
        deadline = time.monotonic_ns() + self._limits.connect_ns
        while len(self._idle) < self._plan.preconnect and time.monotonic_ns() < deadline:
            self._poll(0.05)
            if not self._connections:
                return

    def run(self, start_ns: int) -> None:
        """Send everything, from ``start_ns`` of the monotonic clock on."""
        plan = self._plan
        self.started_ns = start_ns
        if plan.due_ns:
            for chain, due in enumerate(plan.due_ns):
                self._at(start_ns + due, chain)
            self._open_chains = len(plan.chains)
        else:
            for stagger in plan.stagger_ns[: len(plan.chains)]:
                self._at(start_ns + stagger, self._take_chain())
        self._next_sweep = start_ns
        while self._open_chains and not self._stopping:
            self._poll(0.05)
            now = time.monotonic_ns()
            self._start_due(now)
            if now >= self._next_sweep:
                self._sweep(now)
        self._abandon_all()

    @property
    def stopping(self) -> bool:
        """Whether it was told to end."""
        return self._stopping

    def stop(self) -> None:
        """End as soon as may be; what is in flight ends as cancelled."""
        self._stopping = True

    def close(self) -> None:
        """Give everything back."""
        for connection in list(self._connections.values()):
            self._drop(connection)
        self._timer.close()
        self._stream.close()
        self._urgent.close()

    # --- schedule

    def _take_chain(self) -> int:
        chain = self._next_chain
        self._next_chain += 1
        self._open_chains += 1
        return chain

    def _at(self, due_ns: int, chain: int) -> None:
        heapq.heappush(self._due, (due_ns, next(self._sequence), chain))
        self._timer.set(self._due[0][0])

    def _start_due(self, now: int) -> None:
        due = self._due
        while due and due[0][0] <= now:
            self._waiting.append(heapq.heappop(due)[2])
        if due:
            self._timer.set(due[0][0])
        self._send_waiting()

    def _send_waiting(self) -> None:
        cap = self._plan.max_in_flight
        while self._waiting and not (cap and len(self._busy) >= cap):
            connection = self._take_idle()
            if connection is None:
                self._make_connections()
                return
            self._send(connection, self._waiting.popleft())

    def _take_idle(self) -> _Connection | None:
        # The one used last: those at the other end are closest to the server's idle limit.
        return self._idle.pop() if self._idle else None

    def _make_connections(self) -> None:
        """Open one connection for each chain that waits, and a few to spare."""
        opening = sum(not connection.ready for connection in self._connections.values())
        for _ in range(len(self._waiting) + _SPARE - opening - len(self._idle)):
            if not self._open() and not self._connections:
                self._refuse_waiting(Outcome.REFUSED)
                return

    def _refuse_waiting(self, outcome: Outcome) -> None:
        while self._waiting:
            chain = self._waiting.popleft()
            now = time.monotonic_ns()
            index = self._index(self._request_of(chain))
            self._log.note(Kind.SENT, index, now)
            self._log.note(Kind.ENDED, index, now, outcome=outcome)
            self._advance(chain, now, ended=True)

    def _request_of(self, chain: int) -> int:
        return self._plan.chains[chain][self._position[chain]]

    def _index(self, request: int) -> int:
        return self._plan.requests[request][0]

    def _advance(self, chain: int, now: int, *, ended: bool) -> None:
        """Go on with the next turn of the chain, or with the next chain of this stream."""
        self._position[chain] += 1
        turns = self._plan.chains[chain]
        position = self._position[chain]
        if ended:
            # The rest of a conversation cannot go on without the turn that failed.
            while position < len(turns):
                index = self._index(turns[position])
                self._log.note(Kind.ENDED, index, now, outcome=Outcome.CANCELLED)
                position += 1
        if position < len(turns):
            self._at(now + self._plan.requests[turns[position]][3], chain)
            return
        self._open_chains -= 1
        if not self._plan.due_ns and self._next_chain < len(self._plan.chains):
            self._waiting.append(self._take_chain())

    # --- connections

    def _open(self) -> bool:
        family = socket.AF_INET6 if ":" in self._plan.host else socket.AF_INET
        try:
            sock = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        except OSError:
            # No more descriptors: what waits goes on waiting for a connection that gets free.
            return False
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        code = sock.connect_ex(self._address)
        if code not in {0, errno.EINPROGRESS}:
            sock.close()
            return False
        connection = _Connection(sock, time.monotonic_ns())
        self._connections[connection.fd] = connection
        self._urgent.register(connection.fd, _EDGE | select.EPOLLOUT)
        return True

    def _connected(self, connection: _Connection) -> None:
        if connection.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self._drop(connection)
            if self.started_ns and not self._connections and not self._idle:
                self._refuse_waiting(Outcome.REFUSED)
            return
        connection.ready = True
        connection.idle_since = time.monotonic_ns()
        self._urgent.modify(connection.fd, _EDGE)
        self._idle.append(connection)

    def _move(self, connection: _Connection, *, streaming: bool) -> None:
        """Put a connection into the other queue."""
        connection.reads = 0
        if connection.streaming is streaming:
            return
        before, after = self._stream, self._urgent
        if streaming:
            before, after = after, before
        before.unregister(connection.fd)
        after.register(connection.fd, _EDGE)
        connection.streaming = streaming

    def _drop(self, connection: _Connection) -> None:
        if self._connections.pop(connection.fd, None) is None:
            return
        self._busy.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)
        connection.sock.close()

    def _send(self, connection: _Connection, chain: int) -> None:
        request = self._request_of(chain)
        index, offset, length, _ = self._plan.requests[request]
        connection.request, connection.index = request, index
        connection.response = Response()
        connection.out = self._bytes[offset : offset + length]
        self._busy.add(connection)
        now = time.monotonic_ns()
        connection.sent_ns = connection.last_ns = now
        self._log.note(Kind.RESENT if connection.resent else Kind.SENT, index, now)
        self._write(connection)

    def _write(self, connection: _Connection) -> None:
        out = connection.out
        if out is None:
            return
        try:
            sent = connection.sock.send(out)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._broken_off(connection, Outcome.CONNECTION_RESET)
            return
        if sent == len(out):
            connection.out = None
            self._urgent.modify(connection.fd, _EDGE)
        else:
            connection.out = out[sent:]
            self._urgent.modify(connection.fd, _EDGE | select.EPOLLOUT)

    def _poll(self, timeout_s: float) -> None:
        """Wait for something to do, and do it: what is urgent at once, streams in batches."""
        streams = self._handle(self._urgent.poll(timeout_s))
        connections, read = self._connections, self._read
        while streams:
            batch = self._stream.poll(0, _BATCH)
            for fd, _ in batch:
                connection = connections.get(fd)
                if connection is not None:
                    read(connection)
            streams = len(batch) == _BATCH
            if streams:
                self._handle(self._urgent.poll(0))
        if self._waiting:
            self._send_waiting()

    def _handle(self, events: list[tuple[int, int]]) -> bool:
        """Handle urgent events; return whether streams have something to read."""
        streams = False
        timer, stream = self._timer.fd, self._stream.fileno()
        for fd, event in events:
            if fd == stream:
                streams = True
            elif fd == timer:
                self._timer.clear()
                self._start_due(time.monotonic_ns())
            else:
                self._other_event(fd, event)
        return streams

    def _other_event(self, fd: int, event: int) -> None:
        connection = self._connections.get(fd)
        if connection is None:
            return
        if not connection.ready:
            self._connected(connection)
            return
        if event & select.EPOLLOUT:
            self._write(connection)
        if event & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR):
            self._read(connection)

    def _read(self, connection: _Connection) -> None:
        request = connection.request
        if request < 0:
            # An idle connection has nothing to say but its end.
            self._drop(connection)
            return
        log = self._log
        try:
            size = log.receive(connection.receive, connection.index)
        except BlockingIOError:
            return
        except OSError:
            self._broken_off(connection, Outcome.CONNECTION_RESET)
            return
        connection.last_ns = log.now
        if not connection.streaming:
            connection.reads += 1
            if connection.reads > _FIRST_READS:
                self._move(connection, streaming=True)
        if not size:
            proper = connection.response.ends_with_connection()
            self._broken_off(connection, Outcome.COMPLETE if proper else Outcome.CONNECTION_CLOSED)
            return
        try:
            complete = connection.response.feed(log.arena, log.start, log.end)
        except Broken:
            self._broken_off(connection, Outcome.PROTOCOL_ERROR)
            return
        if complete:
            self._finish(connection, Outcome.COMPLETE)
        elif size == READ_SIZE:
            # Edges tell of new bytes only: what did not fit is still there.
            self._read(connection)

    def _broken_off(self, connection: _Connection, outcome: Outcome) -> None:
        """End an exchange together with its connection, or send it again where nobody saw it."""
        silent = connection.last_ns == connection.sent_ns
        raced = connection.sent_ns - connection.idle_since > _IDLE_RACE_NS
        if silent and raced and not connection.resent and outcome is not Outcome.COMPLETE:
            self._send_again(connection)
        else:
            self._finish(connection, outcome)

    def _send_again(self, connection: _Connection) -> None:
        chain = self._chain_of[connection.request]
        self._drop(connection)
        fresh = socket.socket(connection.sock.family, socket.SOCK_STREAM)
        fresh.settimeout(self._limits.connect_ns / 1e9)
        try:
            fresh.connect(self._address)
        except OSError:
            fresh.close()
            self._waiting.appendleft(chain)
            self._refuse_waiting(Outcome.REFUSED)
            return
        fresh.setblocking(False)
        fresh.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        fresh.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        again = _Connection(fresh, time.monotonic_ns())
        again.ready = again.resent = True
        self._connections[again.fd] = again
        self._urgent.register(again.fd, _EDGE)
        self._send(again, chain)

    def _finish(self, connection: _Connection, outcome: Outcome) -> None:
        now = time.monotonic_ns()
        request, connection.request = connection.request, -1
        response = connection.response
        self._log.note(
            Kind.ENDED, self._index(request), now, outcome=outcome, status=response.status
        )
        self._busy.discard(connection)
        complete = outcome is Outcome.COMPLETE
        chain = self._chain_of[request]
        if complete and response.keep_alive:
            self._move(connection, streaming=False)
            connection.idle_since = now
            connection.resent = False
            self._idle.append(connection)
        else:
            self._drop(connection)
        self._advance(chain, now, ended=not complete)
        if self._waiting:
            self._send_waiting()

    # --- deadlines

    def _sweep(self, now: int) -> None:
        self._next_sweep = now + _SWEEP_NS
        limits = self._limits
        if now - self.started_ns > limits.load_ns or self._log.error is not None:
            self._stopping = True
            return
        for connection in list(self._busy):
            if now - connection.sent_ns > limits.total_ns:
                self._finish(connection, Outcome.DEADLINE)
            elif now - connection.last_ns > limits.idle_ns:
                self._finish(connection, Outcome.STALLED)
        late = [
            connection
            for connection in self._connections.values()
            if not connection.ready and now - connection.idle_since > limits.connect_ns
        ]
        for connection in late:
            self._drop(connection)
        if late and not self._idle and not self._busy:
            self._refuse_waiting(Outcome.CONNECT_TIMEOUT)

    def _abandon_all(self) -> None:
        now = time.monotonic_ns()
        for connection in list(self._busy):
            self._log.note(
                Kind.ENDED,
                self._index(connection.request),
                now,
                outcome=Outcome.CANCELLED,
                status=connection.response.status,
            )


def main(folder: Path, number: int) -> int:
    """Do the share of worker ``number``; 0 where the log is complete, 74 where it is not."""
    plan = WorkerPlan.read(folder, number)
    if plan.core is not None:
        os.sched_setaffinity(0, {plan.core})
    with (folder / REQUESTS).open("rb") as stream:
        mapped = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    log = EventLog(folder / EVENTS.format(worker=number), folder / BYTES.format(worker=number))
    _raise_open_files()
    worker = Worker(plan, memoryview(mapped), log)
    signal.signal(signal.SIGTERM, lambda *_: worker.stop())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.collect()
    gc.freeze()
    gc.disable()
    worker.connect()
    (folder / READY.format(worker=number)).touch()
    start_ns = wait_for_go(folder, lambda: worker.stopping)
    offsets = [clock_offset()]
    cpu_before = time.process_time()
    if start_ns:
        worker.run(start_ns)
    ended_ns = time.monotonic_ns()
    cpu_s = time.process_time() - cpu_before
    offsets.append(clock_offset())
    worker.close()
    failure = log.close()
    summary = {
        "started_ns": start_ns,
        "ended_ns": ended_ns,
        "realtime_offset_ns": offsets,
        "cpu_s": cpu_s,
        "peak_rss_kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        "failure": failure,
    }
    (folder / SUMMARY.format(worker=number)).write_text(json.dumps(summary), encoding="ascii")
    return 74 if failure else 0


def _raise_open_files() -> None:
    """One descriptor a stream: the usual soft limit of 1,024 would end at a thousand of them."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def wait_for_go(folder: Path, called_off: Callable[[], bool]) -> int:
    """Wait for the common start and return it; 0 where the load was called off."""
    go = folder / GO
    parent = os.getppid()
    while os.getppid() == parent and not called_off():
        try:
            text = go.read_text(encoding="ascii")
        except FileNotFoundError:
            text = ""
        if text.endswith("\n"):
            return int(text)
        time.sleep(_GO_POLL_S)
    return 0


def clock_offset() -> int:
    """CLOCK_REALTIME minus CLOCK_MONOTONIC in ns, by the tightest of a few tries."""
    best = (1 << 62, 0)
    for _ in range(9):
        before = time.monotonic_ns()
        real = time.time_ns()
        after = time.monotonic_ns()
        best = min(best, (after - before, real - (before + after) // 2))
    return best[1]


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2])))
