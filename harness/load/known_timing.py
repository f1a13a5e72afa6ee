"""The known-timing server: compiled once from the C source beside this file, started on demand."""

import json
import os
import shutil
import time
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TypedDict

import httpx

from gauntlet.core.errors import InfrastructureError
from gauntlet.core.ids import file_digest
from gauntlet.core.proc import Service, run
from gauntlet.core.scoped import Scoped

_COMPILE_S = 60.0
_START_S = 5.0


class NoCompilerError(InfrastructureError):
    """There is no C compiler, so no server whose timing is known."""


class Distribution(TypedDict):
    """A distribution in ms as the server itself measured it."""

    n: int
    mean: float
    p50: float
    p99: float
    max: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What the server really did; None where it sent nothing of the kind."""

    requests: int
    chunks: int
    dropped: int
    peak: int
    ttft_ms: Distribution | None
    itl_ms: Distribution | None
    late_ms: Distribution | None


def build_known_timing(cache: Path | None = None) -> Path:
    """Compile the server unless that was done before; return the program.

    Raises NoCompilerError without a C compiler and CommandError where it fails.
    """
    source = Path(str(files("gauntlet.harness.load").joinpath("known_timing.c")))
    folder = cache or default_cache()
    program = folder / f"known-timing-{file_digest(source)[:16]}"
    if program.exists():
        return program
    compiler = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), "")
    if not compiler:
        msg = "no C compiler (cc, gcc or clang) to build the known-timing server with"
        raise NoCompilerError(msg, hint="install one, or set `calibration: off` and say why")
    folder.mkdir(parents=True, exist_ok=True)
    # Under a name of our own first: two builds at once must not run each other's half.
    unfinished = program.with_suffix(f".{os.getpid()}")
    argv = [compiler, "-O2", "-o", str(unfinished), str(source)]
    run(argv, timeout=_COMPILE_S)
    unfinished.replace(program)
    return program


def default_cache() -> Path:
    """Where compiled helpers are kept between runs."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "gauntlet"


class KnownTiming(Scoped):
    """A running known-timing server on loopback; ``ttft_ms`` and ``itl_ms`` are what it aims at."""

    def __init__(
        self,
        *,
        workdir: Path,
        ttft_ms: float = 50.0,
        itl_ms: float = 10.0,
        tokens: int = 64,
        busy: bool = False,
        core: int | None = None,
        cache: Path | None = None,
    ) -> None:
        program = build_known_timing(cache)
        argv = [str(program), "0", f"{ttft_ms * 1e3:.0f}", f"{itl_ms * 1e3:.0f}", str(tokens)]
        argv.append("1" if busy else "0")
        if core is not None and (taskset := shutil.which("taskset")):
            argv = [taskset, "-c", str(core), *argv]
        self._log = workdir / "known-timing.log"
        self._log.unlink(missing_ok=True)
        self._service = Service(argv, log=self._log)
        try:
            self.port = self._wait_port()
        except BaseException:
            self.close()
            raise

    @property
    def base_url(self) -> str:
        """Root URL, without a trailing slash."""
        return f"http://127.0.0.1:{self.port}"

    def truth(self) -> Truth:
        """What it did since the last reset."""
        return Truth(**json.loads(self._ask("GET", "/stats")))

    def reset(self) -> None:
        """Begin a new account."""
        self._ask("POST", "/reset")

    def close(self) -> None:
        """Stop it. Safe to call again."""
        self._service.close()

    def _ask(self, method: str, path: str) -> bytes:
        with httpx.Client(base_url=self.base_url, timeout=10.0, trust_env=False) as client:
            return client.request(method, path).raise_for_status().content

    def _wait_port(self) -> int:
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline and self._service.returncode is None:
            text = self._log.read_text(encoding="ascii", errors="replace")
            if text.endswith("\n"):
                return int(text.splitlines()[0])
            time.sleep(0.005)
        msg = f"the known-timing server did not start: {self._service.log_tail() or 'no output'}"
        raise InfrastructureError(msg)
