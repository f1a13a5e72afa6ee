"""The one place that starts other programs: bounded in time, output and descendants."""

import contextlib
import json
import logging
import os
import selectors
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from gauntlet.core.clock import Stopwatch
from gauntlet.core.errors import InfrastructureError
from gauntlet.core.scoped import Scoped

_LOGGER = logging.getLogger(__name__)
_SUPERVISOR = Path(__file__).with_name("supervisor.py")
_KILL_WAIT_S = 5.0

# Values of any other variable are not shown: a new secret must not need a new rule to stay one.
_SHOWN_VARIABLES = frozenset(
    {"HOME", "LANG", "LC_ALL", "OMP_NUM_THREADS", "PATH", "PYTHONHASHSEED", "PYTHONPATH", "TMPDIR"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a program and all its descendants used: CPU seconds, and peak memory in KiB.

    The peak is that of the tree (pages shared by its processes counted once), sampled five times
    a second, and never less than that of its largest single process.
    """

    cpu_s: float
    peak_rss_kib: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """A program that ended: its status and what it wrote, each stream cut at the limit.

    ``usage`` is None unless it was asked for.
    """

    argv: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str
    truncated: bool
    seconds: float
    usage: Usage | None = None


class CommandError(InfrastructureError):
    """A program could not be started, took too long or ended with a status other than 0."""

    def __init__(self, message: str, *, result: Completed | None = None) -> None:
        super().__init__(message)
        self.result = result


def redacted(env: Mapping[str, str]) -> dict[str, str]:
    """Copy an environment for display: values outside a short list of harmless names are hidden."""
    return {key: value if key in _SHOWN_VARIABLES else "***" for key, value in env.items()}


def run(
    argv: Sequence[str],
    *,
    timeout: float,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    limit: int = 4 << 20,
    check: bool = True,
    supervised: bool = False,
    errors: str = "replace",
    stdin: bytes | None = None,
    usage: bool = False,
) -> Completed:
    """Run a program to its end and return what it wrote.

    ``timeout`` is in seconds, ``limit`` in bytes per stream; what comes after it is read and
    dropped. The program reads ``stdin``, or nothing. It gets its own process group, which is
    killed on timeout or interrupt; with ``supervised`` (a few hundredths of a second more, and
    no ``stdin``) it also dies when we are killed; ``usage`` implies that, and tells what it used.
    ``errors`` says what becomes of bytes that are not UTF-8.

    Raises CommandError where it cannot start, overruns ``timeout``, or (with ``check``) fails.
    """
    supervised = supervised or usage
    if supervised and stdin is not None:
        msg = "a supervised program has no standard input of its own"
        raise ValueError(msg)
    _LOGGER.info("+ %s", shlex.join(argv))
    if env is not None:
        _LOGGER.debug("environment: %s", redacted(env))
    watch = Stopwatch()
    with _usage_file(wanted=usage) as used:
        try:
            with _readable(stdin) as source:
                process = subprocess.Popen(
                    _supervised(argv, grace=1.0, options=_usage_options(used))
                    if supervised
                    else argv,
                    cwd=cwd,
                    env=env,
                    stdin=subprocess.PIPE if supervised else source,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                )
        except OSError as error:
            msg = f"cannot run {argv[0]}: {error.strerror}"
            raise CommandError(msg) from error
        try:
            out, err, truncated, ended = _collect(process, timeout, limit, errors)
        finally:
            _end_group(process)
        result = Completed(
            argv=tuple(argv),
            returncode=process.returncode,
            stdout=out,
            stderr=err,
            truncated=truncated,
            seconds=watch.seconds,
            usage=_read_usage(used),
        )
    if not ended:
        msg = f"{shlex.join(argv)}: no end after {timeout:g} s, killed\n{_tail(err or out)}"
        raise CommandError(msg.rstrip(), result=result)
    if check and process.returncode != 0:
        msg = f"{shlex.join(argv)}: exit status {process.returncode}\n{_tail(err or out)}"
        raise CommandError(msg.rstrip(), result=result)
    return result


@contextlib.contextmanager
def _readable(data: bytes | None) -> Iterator[IO[bytes] | int]:
    """Yield what a program can read ``data`` from: a file, which cannot block us as a pipe can."""
    if data is None:
        yield subprocess.DEVNULL
        return
    with tempfile.TemporaryFile() as stream:
        stream.write(data)
        stream.seek(0)
        yield stream


def _collect(
    process: "subprocess.Popen[bytes]", timeout: float, limit: int, errors: str
) -> tuple[str, str, bool, bool]:
    """Read both streams until the program ends; the last value tells whether it did in time."""
    deadline = time.monotonic() + timeout
    kept: dict[str, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}
    truncated = False
    ended = True
    with selectors.DefaultSelector() as selector:
        for name in kept:
            selector.register(getattr(process, name), selectors.EVENT_READ, name)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                ended = False
                break
            for key, _ in selector.select(left):
                stream: IO[bytes] = key.fileobj  # type: ignore[assignment]
                data = os.read(stream.fileno(), 1 << 16)
                if not data:
                    selector.unregister(stream)
                room = limit - len(kept[key.data])
                truncated = truncated or len(data) > room
                kept[key.data] += data[:room]
    if ended:
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            ended = False
    texts = [kept[name].decode(errors=errors) for name in ("stdout", "stderr")]
    return texts[0], texts[1], truncated, ended


def _supervised(argv: Sequence[str], *, grace: float, options: Sequence[str] = ()) -> list[str]:
    """Wrap a command so that it ends when the pipe on the wrapper's standard input closes."""
    wrapper = [sys.executable, "-I", "-S", str(_SUPERVISOR), "--grace", f"{grace:g}"]
    return [*wrapper, *options, "--", *argv]


@contextlib.contextmanager
def _usage_file(*, wanted: bool) -> Iterator[Path | None]:
    """Yield where the supervisor is to write what a program used."""
    if not wanted:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="gauntlet-usage-") as folder:
        yield Path(folder) / "usage.json"


def _usage_options(file: Path | None) -> list[str]:
    return ["--usage", str(file)] if file is not None else []


def _read_usage(file: Path | None) -> Usage | None:
    """What the supervisor wrote; None where it was killed before it could."""
    if file is None or not file.exists():
        return None
    return Usage(**json.loads(file.read_text(encoding="ascii")))


def _end_group(process: "subprocess.Popen[bytes]") -> None:
    if process.stdin is not None:
        # Supervised: the command sits in a group of its own, which only the supervisor ends.
        process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_KILL_WAIT_S)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(_KILL_WAIT_S)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _tail(text: str, lines: int = 12) -> str:
    return "\n".join(text.rstrip().splitlines()[-lines:])


class Service(Scoped):
    """A program that runs beside us and never outlives us: stopped on exit, or by our death."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        log: Path,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        grace: float = 3.0,
        log_limit: int | None = None,
    ) -> None:
        """Start ``argv`` with both streams appended to ``log``; ``grace`` s between TERM and KILL.

        With ``log_limit`` (bytes) the log is bounded: its beginning and its end are kept, and a
        disk that is full costs lines, not the program. For a moment it takes half as much again.

        Raises InfrastructureError where the log cannot be opened.
        """
        self.argv = tuple(argv)
        self.log = log
        self._grace = grace
        self._report = b""
        # Whoever watches a service may be another thread than its owner.
        self._report_lock = threading.Lock()
        _LOGGER.info("+ %s &", shlex.join(argv))
        try:
            log.parent.mkdir(parents=True, exist_ok=True)
            stream = log.open("ab")
        except OSError as error:
            msg = f"cannot write the log {log}: {error.strerror}"
            raise InfrastructureError(msg) from error
        self._report_fd, report = os.pipe()
        os.set_blocking(self._report_fd, False)
        options = ["--report", str(report)]
        if log_limit is not None:
            options += ["--log", str(log.absolute()), "--log-limit", str(log_limit)]
        try:
            with stream:
                self._process = subprocess.Popen(
                    _supervised(argv, grace=grace, options=options),
                    cwd=cwd,
                    env=env,
                    stdin=subprocess.PIPE,
                    stdout=stream,
                    stderr=subprocess.STDOUT,
                    # Ctrl-C goes to our group; we stop services ourselves, in order.
                    start_new_session=True,
                    pass_fds=(report,),
                )
        except BaseException:
            os.close(self._report_fd)
            raise
        finally:
            os.close(report)

    @property
    def returncode(self) -> int | None:
        """Exit status (128 + signal where a signal ended it), None while it runs."""
        return self._process.poll()

    @property
    def pid(self) -> int | None:
        """Process id of the program itself, None until it is started."""
        said = self._said("pid")
        return int(said) if said is not None else None

    @property
    def log_problem(self) -> str | None:
        """Why some output is not in the (bounded) log, None where all is there."""
        return self._said("log")

    def close(self) -> int:
        """Stop it and all its descendants; return its exit status. Safe to call again."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        try:
            status = self._process.wait(self._grace + _KILL_WAIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait(_KILL_WAIT_S)
        self._read_report()
        with self._report_lock:
            if self._report_fd >= 0:
                os.close(self._report_fd)
                self._report_fd = -1
        return status

    def log_tail(self, lines: int = 12, *, limit: int = 1 << 16) -> str:
        """Return the last lines of the log, read from at most its last ``limit`` bytes."""
        try:
            with self.log.open("rb") as stream:
                if self.log.is_file():
                    stream.seek(max(0, self.log.stat().st_size - limit))
                    data = stream.read(limit)
                else:
                    data = b""
        except OSError:
            data = b""
        # What a full disk refused is the end of the log all the same.
        data += bytes.fromhex(self._said("tail") or "")
        return _tail(data.decode(errors="replace"), lines)

    def _read_report(self) -> None:
        with self._report_lock, contextlib.suppress(BlockingIOError):
            while self._report_fd >= 0 and (data := os.read(self._report_fd, 1 << 16)):
                self._report += data

    def _said(self, word: str) -> str | None:
        """Return the latest whole line of the supervisor's report that starts with ``word``."""
        self._read_report()
        found = None
        for line in self._report.decode(errors="replace").splitlines(keepends=True):
            key, _, value = line.partition(" ")
            if key == word and value.endswith("\n"):
                found = value[:-1]
        return found


def start_detached(argv: Sequence[str], *, log: Path) -> "subprocess.Popen[bytes]":
    """Start a program that outlives us, in a session of its own, with no input and no output.

    Its standard error is appended to ``log``. Whoever starts it waits for it, or lets
    :func:`reap_later` do so. Raises InfrastructureError where it or its log cannot be opened.
    """
    _LOGGER.info("+ %s &", shlex.join(argv))
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as stream:
            return subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stream,
                start_new_session=True,
            )
    except OSError as error:
        msg = f"cannot run {argv[0]} with its errors in {log}: {error.strerror}"
        raise InfrastructureError(msg) from error


def reap_later(process: "subprocess.Popen[bytes]") -> None:
    """Take note of the end of a program whenever it comes, so that no zombie is left."""
    threading.Thread(target=process.wait, name=f"reap-{process.pid}", daemon=True).start()


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Turn SIGTERM into KeyboardInterrupt inside, so that one path cleans up after both."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
