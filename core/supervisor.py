"""Run one command so that it and all its descendants die with the process that wanted it.

Started as a script (``python -I -S supervisor.py --grace SECONDS [options] -- COMMAND...``)
with a pipe as standard input, whose other end the owner holds: when the owner ends, however it
ends, the pipe closes and the command's process group and every descendant are stopped, TERM first,
KILL after the grace. Uses the standard library alone, so that it starts in a few hundredths of a
second.

With ``--usage`` it writes what the command and all its descendants used, as JSON:
``{"cpu_s": ..., "peak_rss_kib": ...}``. Orphans are counted too, because they are ours to reap.

``--report FD`` is a pipe on which the owner is told, a line each: ``pid N`` (the command's), ``log
REASON`` (the log cannot be written) and ``tail HEX`` (the end of what could not be written).
``--log PATH --log-limit BYTES`` keeps the command's output bounded. It is read here and not by the
owner, so that a chatty command costs the owner nothing and never waits for it.

Exits with the command's own status (128 + signal where a signal ended it).
"""

import argparse
import contextlib
import ctypes
import fcntl
import json
import os
import resource
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_SAMPLE_MS = 200
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_READ_BYTES = 1 << 16
# What a command may write while its log is made shorter.
_PIPE_BYTES = 1 << 20
_HEAD_BYTES = 1 << 20
_TAIL_BYTES = 16 << 10
_DRAIN_S = 2.0


class BoundedLog:
    """A log of at most ``limit`` bytes: its first MiB (less where the limit is small) and its end.

    When it is full, half of what follows the head is left out, and a line says how much. What the
    disk refuses is dropped, but the last 16 KiB of it stay in ``unwritten``; ``on_problem`` hears
    of it once.
    """

    def __init__(
        self,
        path: Path,
        *,
        limit: int,
        on_problem: Callable[[str], None] = lambda _reason: None,
    ) -> None:
        self.unwritten = b""
        self._path = path
        self._limit = limit
        self._head = min(_HEAD_BYTES, limit // 4)
        self._on_problem = on_problem
        self._told = False
        self._left_out = 0
        self._descriptor = self._open()
        self._size = os.fstat(self._descriptor).st_size

    def write(self, data: bytes) -> None:
        """Append; never raises for what the disk refuses."""
        try:
            if self.unwritten:
                self._write(b"\n[output is missing here: the log could not be written]\n")
                self.unwritten = b""
            if self._size + len(data) > self._limit:
                self._shorten()
            self._write(data)
        except OSError as error:
            self.unwritten = (self.unwritten + data)[-_TAIL_BYTES:]
            if not self._told:
                self._told = True
                self._on_problem(error.strerror or str(error))

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def _open(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            done = os.write(self._descriptor, view)
            self._size += done
            view = view[done:]

    def _shorten(self) -> None:
        """Replace the file by its head and the last half of the rest; the copy is the kernel's."""
        kept = (self._limit - self._head) // 2
        start = self._size - kept
        if start <= self._head:
            return
        self._left_out += start - self._head
        shorter = self._path.with_name(f".{self._path.name}.shorter")
        with self._path.open("rb") as old, shorter.open("wb") as new:
            _copy(old.fileno(), new.fileno(), 0, self._head)
            new.write(b"\n[%d bytes of this log are left out here]\n" % self._left_out)
            new.flush()
            _copy(old.fileno(), new.fileno(), start, kept)
        shorter.replace(self._path)
        os.close(self._descriptor)
        self._descriptor = self._open()
        self._size = os.fstat(self._descriptor).st_size


def _copy(source: int, target: int, offset: int, count: int) -> None:
    while count > 0:
        done = os.sendfile(target, source, offset, count)
        if done == 0:
            return
        offset += done
        count -= done


def _pump(source: int, log: BoundedLog) -> None:
    """Write what comes until the last holder of the pipe's other end is gone."""
    while data := os.read(source, _READ_BYTES):
        log.write(data)


class _Report:
    """Lines for the owner; one who does not listen is not waited for."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor
        if descriptor is not None:
            os.set_blocking(descriptor, False)

    def say(self, word: str, value: object) -> None:
        """Send one line."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.write(self._descriptor, f"{word} {value}\n".encode())


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def _die_with_parent(parent: int) -> None:
    """In the child: be killed where the supervisor ``parent`` itself is killed.

    It may have been killed already, before the kernel was asked to tell.
    """
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def _children() -> list[int]:
    """Live direct children, including orphans that this subreaper inherited."""
    try:
        listed = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii")
    except OSError:
        return []
    return [int(pid) for pid in listed.split()]


def _signal_all(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
    for pid in _children():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _reap(child: "subprocess.Popen[bytes]") -> None:
    """Reap orphans; the command itself is left to its own object, or its status is lost."""
    for pid in _children():
        if pid != child.pid:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def _stop(child: "subprocess.Popen[bytes]", grace: float) -> int:
    """Stop everything; return the status of the command itself."""
    _signal_all(child.pid, signal.SIGTERM)
    deadline = time.monotonic() + grace
    while child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    # A second round follows orphans that only now became children of this process.
    last = time.monotonic() + 2.0
    while time.monotonic() < last:
        _signal_all(child.pid, signal.SIGKILL)
        status = child.poll()
        _reap(child)
        if status is not None and not _children():
            break
        time.sleep(0.01)
    return child.wait()


class Memory:
    """Peak memory of a process tree, from samples; see :meth:`sample` for what is added up."""

    def __init__(self, root: int) -> None:
        self.root = root
        self.peak_pages = 0

    def sample(self) -> None:
        """Take one: pages of each process's own, and the largest set of shared ones once.

        The processes of one program share its code and libraries: adding up whole resident sets
        would count these as often as there are processes.
        """
        own = shared = 0
        for pid in self._tree():
            with contextlib.suppress(OSError, ValueError, IndexError):
                fields = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
                own += int(fields[1]) - int(fields[2])
                shared = max(shared, int(fields[2]))
        self.peak_pages = max(self.peak_pages, own + shared)

    def _tree(self) -> list[int]:
        found = [self.root, *(pid for pid in _children() if pid != self.root)]
        for pid in found:
            with contextlib.suppress(OSError, ValueError):
                # A process may have been started by any thread of its parent.
                for task in Path(f"/proc/{pid}/task").iterdir():
                    listed = (task / "children").read_text(encoding="ascii")
                    found += [int(each) for each in listed.split()]
        return found

    def write(self, file: Path) -> None:
        """Write the peak, and the CPU time of all descendants that have ended."""
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        sampled = self.peak_pages * resource.getpagesize() // 1024
        # The kernel's figure is that of the largest single process: exact, and a floor.
        peak = max(sampled, used.ru_maxrss)
        text = json.dumps({"cpu_s": used.ru_utime + used.ru_stime, "peak_rss_kib": peak})
        file.write_text(text, encoding="ascii")


def _wait(child: "subprocess.Popen[bytes]", wake: int, memory: Memory | None) -> None:
    """Return when the command ended, the owner's pipe closed or a stop signal came."""
    pidfd = os.pidfd_open(child.pid)
    poller = select.poll()
    for descriptor in (0, pidfd, wake):
        poller.register(descriptor, select.POLLIN | select.POLLHUP)
    pause_ms = None if memory is None else _SAMPLE_MS
    while True:
        ready = {descriptor for descriptor, _ in poller.poll(pause_ms)}
        if memory is not None:
            memory.sample()
        if pidfd in ready or wake in ready:
            return
        if 0 in ready and not os.read(0, 4096):
            return


def _options(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(prog="supervisor.py")
    parser.add_argument("--grace", type=float, required=True)
    parser.add_argument("--report", type=int)
    parser.add_argument("--usage", type=Path)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--log-limit", type=int, default=64 << 20)
    split = arguments.index("--") if "--" in arguments else len(arguments)
    command = arguments[split + 1 :]
    if not command:
        parser.error("no -- COMMAND")
    return parser.parse_args(arguments[:split]), command


def _start_pump(
    child: "subprocess.Popen[bytes]", log: BoundedLog | None
) -> threading.Thread | None:
    if log is None or child.stdout is None:
        return None
    source = child.stdout.fileno()
    with contextlib.suppress(OSError):
        fcntl.fcntl(source, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    pump = threading.Thread(target=_pump, args=(source, log), daemon=True)
    pump.start()
    return pump


def main(arguments: list[str]) -> int:
    """Parse ``--grace SECONDS [options] -- COMMAND...`` and supervise the command."""
    options, command = _options(arguments)
    report = _Report(options.report)
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    for number in _STOP_SIGNALS:
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    log = None
    try:
        if options.log is not None:
            log = BoundedLog(
                options.log,
                limit=options.log_limit,
                on_problem=lambda reason: report.say("log", reason),
            )
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=None if log is None else subprocess.PIPE,
            stderr=None if log is None else subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=partial(_die_with_parent, os.getpid()),  # noqa: PLW1509 - this process has one thread so far
        )
    except OSError as error:
        sys.stderr.write(f"cannot start {command[0]}: {error.strerror}\n")
        return 127
    report.say("pid", child.pid)
    memory = Memory(child.pid) if options.usage else None
    pump = _start_pump(child, log)
    _wait(child, wake_read, memory)
    status = _stop(child, options.grace)
    if memory is not None:
        memory.write(options.usage)
    if log is not None and pump is not None:
        pump.join(_DRAIN_S)
        if log.unwritten:
            report.say("tail", log.unwritten.hex())
    return 128 - status if status < 0 else status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
