"""Run one command so that it and all its descendants die with the process that wanted it.

Started as a script (``python -I -S supervisor.py --grace SECONDS -- COMMAND...``) with a pipe as
standard input, whose other end the owner holds: when the owner ends, however it ends, the pipe
closes and the command's process group and every descendant are stopped, TERM first, KILL after
the grace. Uses the standard library alone, so that it starts in a few hundredths of a second.

Exits with the command's own status (128 + signal where a signal ended it).
"""

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def _die_with_parent() -> None:
    """In the child: be killed where this supervisor itself is killed."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


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


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


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
        _reap()
        if status is not None and not _children():
            break
        time.sleep(0.01)
    return child.wait()


def _wait(child: "subprocess.Popen[bytes]", wake: int) -> None:
    """Return when the command ended, the owner's pipe closed or a stop signal came."""
    pidfd = os.pidfd_open(child.pid)
    poller = select.poll()
    for descriptor in (0, pidfd, wake):
        poller.register(descriptor, select.POLLIN | select.POLLHUP)
    while True:
        ready = {descriptor for descriptor, _ in poller.poll()}
        if pidfd in ready or wake in ready:
            return
        if 0 in ready and not os.read(0, 4096):
            return


def main(arguments: list[str]) -> int:
    """Parse ``--grace SECONDS -- COMMAND...`` and supervise the command."""
    if len(arguments) < 4 or arguments[0] != "--grace" or arguments[2] != "--":
        sys.stderr.write("usage: supervisor.py --grace SECONDS -- COMMAND...\n")
        return 2
    grace, command = float(arguments[1]), arguments[3:]
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    for number in _STOP_SIGNALS:
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=_die_with_parent,  # noqa: PLW1509 - this process has one thread
        )
    except OSError as error:
        sys.stderr.write(f"cannot start {command[0]}: {error.strerror}\n")
        return 127
    _wait(child, wake_read)
    status = _stop(child, grace)
    return 128 - status if status < 0 else status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
