"""Find the server of a folder, or start one: whoever comes, there is one server at most."""

import contextlib
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gauntlet.core.errors import InfrastructureError, UsageError
from gauntlet.core.proc import reap_later, start_detached
from gauntlet.warehouse.folder_lock import FolderInUseError, lock_folder
from gauntlet.warehouse.server.endpoint import Endpoint, ping
from gauntlet.warehouse.server.state import log_file, read_state

IDLE_S = 300.0
_LOOK_AGAIN_S = 0.05
_TERMINATE_S = 5.0
_LONGEST_LOG_BYTES = 1 << 20
_TAIL_BYTES = 16 << 10
_TAIL_LINES = 12


def find_or_start(folder: Path, *, wait_s: float = 30.0, idle_s: float = IDLE_S) -> Endpoint:
    """Return the server of a folder; where there is none, start one that ends after ``idle_s``.

    Raises UsageError where chDB is not installed, InfrastructureError where another process has
    the folder for ``wait_s`` seconds and is no server, or the server does not start.
    """
    folder = folder.resolve()
    if found := find(folder):
        return found
    if importlib.util.find_spec("chdb") is None:
        msg = "the embedded warehouse needs chDB"
        raise UsageError(msg, hint="pip install 'gauntlet[embedded]'")
    deadline = time.monotonic() + wait_s
    with _starting(folder, wait_s=wait_s, idle_s=idle_s) as started:
        while time.monotonic() < deadline:
            ended = started.process.poll() is not None
            if found := find(folder):
                return found
            # Looked for after the process was seen to end: another one may have been first.
            if ended:
                raise started.failure("did not start")
            time.sleep(_LOOK_AGAIN_S)
    with contextlib.suppress(FolderInUseError), lock_folder(folder, 0):
        raise started.failure(f"was not ready in {wait_s:g} s")
    msg = f"the warehouse {folder} is in use by another process, which is no server"
    raise InfrastructureError(msg, hint="wait for the other command, or choose another folder")


def find(folder: Path) -> Endpoint | None:
    """The server that serves a folder now; None where none answers, whatever its file says."""
    state = read_state(folder)
    if state is None or state.folder != str(folder):
        return None
    return state.endpoint if ping(state.endpoint) == str(state.pid) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Started:
    """A server that we started, which may come second and then wait for the folder."""

    process: "subprocess.Popen[bytes]"
    folder: Path
    log: Path
    log_from: int

    def failure(self, what: str) -> InfrastructureError:
        """What went wrong, in the server's own words."""
        msg = f"the server of the warehouse {self.folder} {what}"
        said = self._said()
        return InfrastructureError(f"{msg}\n{said}" if said else msg, hint=f"see {self.log}")

    def _said(self) -> str:
        with self.log.open("rb") as stream:
            end = stream.seek(0, os.SEEK_END)
            stream.seek(max(min(self.log_from, end), end - _TAIL_BYTES))
            text = stream.read().decode(errors="replace")
        return "\n".join(text.rstrip().splitlines()[-_TAIL_LINES:])


@contextlib.contextmanager
def _starting(folder: Path, *, wait_s: float, idle_s: float) -> Iterator[_Started]:
    """Start a server; end it again where it is not the one that has the folder in the end."""
    log = log_file(folder)
    with contextlib.suppress(OSError):
        if log.stat().st_size > _LONGEST_LOG_BYTES:
            os.truncate(log, 0)
    # It waits longer for the folder than we do, so that we say what is the matter.
    lock_s = wait_s + _TERMINATE_S
    words = ["--warehouse", str(folder), "--idle-s", f"{idle_s:g}", "--wait-s", f"{lock_s:g}"]
    argv = [sys.executable, "-m", "gauntlet", "warehouse", "serve", *words]
    log_from = log.stat().st_size if log.exists() else 0
    process = start_detached(argv, log=log)
    try:
        yield _Started(process=process, folder=folder, log=log, log_from=log_from)
    finally:
        state = read_state(folder)
        if state is not None and state.pid == process.pid:
            reap_later(process)
        else:
            _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(_TERMINATE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
