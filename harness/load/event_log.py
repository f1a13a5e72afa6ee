"""Where a worker puts what it sees: one arena for bytes, one for records, both spilled to files.

Reads go straight into the arena, so that no object is made per token. A full arena is written by a
thread, which holds the interpreter for microseconds only; memory stays bounded however long the
load is. Standard library only, as all that a worker imports.
"""

import os
import queue
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gauntlet.harness.load.wire import NO_STAMP, RECORD, Kind

READ_SIZE = 1 << 16
Receive = Callable[..., tuple[int, list[tuple[int, int, bytes]], int, Any]]
_ARENA = 4 << 20
_RECORDS = 1 << 20
_BUFFERS = 3
_ROOM = _ARENA - READ_SIZE
_ANCILLARY = 64
_READ = int(Kind.READ)


class _Spill:
    """A file that takes full buffers in a thread and gives them back empty."""

    def __init__(self, path: Path, size: int) -> None:
        self.buffer = bytearray(size)
        self.error: OSError | None = None
        self._free: queue.SimpleQueue[bytearray] = queue.SimpleQueue()
        for _ in range(_BUFFERS - 1):
            self._free.put(bytearray(size))
        self._full: queue.SimpleQueue[tuple[bytearray, int] | None] = queue.SimpleQueue()
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        self._thread = threading.Thread(target=self._write_all, name=f"spill-{path.name}")
        self._thread.start()

    def swap(self, used: int) -> bytearray:
        """Hand the buffer over and return an empty one; waits where the disk is far behind."""
        self._full.put((self.buffer, used))
        self.buffer = self._free.get()
        return self.buffer

    def close(self, used: int) -> str:
        """Write the rest; return the first error of all writes, empty where there was none."""
        self._full.put((self.buffer, used))
        self._full.put(None)
        self._thread.join()
        os.close(self._file)
        return (self.error.strerror or str(self.error)) if self.error is not None else ""

    def _write_all(self) -> None:
        while (item := self._full.get()) is not None:
            buffer, used = item
            try:
                with memoryview(buffer) as view:
                    done = 0
                    while done < used and self.error is None:
                        done += os.write(self._file, view[done:used])
            except OSError as error:
                self.error = error
            self._free.put(buffer)


class EventLog:
    """The event log of one worker; the last read lies in ``arena[start:end]``."""

    def __init__(self, events: Path, data: Path) -> None:
        self._bytes = _Spill(data, _ARENA)
        self._events = _Spill(events, _RECORDS)
        self.arena = self._bytes.buffer
        self.view = memoryview(self.arena)
        self.start = self.end = 0
        self.now = 0
        self._records = self._events.buffer
        self._offset = 0
        self._last = _RECORDS - RECORD.size

    @property
    def error(self) -> OSError | None:
        """The first write that failed: a full disk, most often."""
        return self._bytes.error or self._events.error

    def receive(self, receive: Receive, request: int) -> int:
        """Read once into ``arena[start:end]``, stamp it and note it for ``request``.

        ``receive`` is the ``recvmsg_into`` of a socket.

        Returns the number of bytes, 0 at the end of the stream. The stamp is taken first of all;
        everything else can wait. Raises OSError as ``recvmsg`` does.
        """
        start = self.end
        if start > _ROOM:
            start = self._make_room()
        into = self.view[start : start + READ_SIZE]
        size, ancillary, _, _ = receive((into,), _ANCILLARY)
        now = time.monotonic_ns()
        self.now, self.start, self.end = now, start, start + size
        if size:
            if self._offset > self._last:
                self._records = self._events.swap(self._offset)
                self._offset = 0
            stamp = ancillary[0][2] if ancillary and len(ancillary[0][2]) == 16 else NO_STAMP
            RECORD.pack_into(self._records, self._offset, _READ, 0, 0, request, size, now, stamp)
            self._offset += RECORD.size
        return size

    def append(self, request: int, data: bytes, user_ns: int) -> None:
        """Take bytes that somebody else read at ``user_ns``."""
        with memoryview(data) as view:
            for at in range(0, len(data), READ_SIZE):
                part = view[at : at + READ_SIZE]
                if self.end > _ROOM:
                    self.end = self._make_room()
                self.view[self.end : self.end + len(part)] = part
                self.end += len(part)
                self.note(Kind.READ, request, user_ns, size=len(part))

    def _make_room(self) -> int:
        self.view.release()
        self.arena = self._bytes.swap(self.end)
        self.view = memoryview(self.arena)
        return 0

    def note(
        self,
        kind: Kind,
        request: int,
        user_ns: int,
        *,
        size: int = 0,
        outcome: int = 0,
        status: int = 0,
    ) -> None:
        """Append one record without a stamp of the kernel's."""
        if self._offset > self._last:
            self._records = self._events.swap(self._offset)
            self._offset = 0
        RECORD.pack_into(
            self._records, self._offset, kind, outcome, status, request, size, user_ns, NO_STAMP
        )
        self._offset += RECORD.size

    def close(self) -> str:
        """Write what is left; return why the log is not complete, empty where it is."""
        self.view.release()
        failures = (self._bytes.close(self.end), self._events.close(self._offset))
        return next((failure for failure in failures if failure), "")
