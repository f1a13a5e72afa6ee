"""One probe: a fresh environment with one mix in it, and the test run there."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gauntlet.core.clock import Stopwatch
from gauntlet.core.errors import InfrastructureError, UsageError
from gauntlet.core.files import write_atomic
from gauntlet.core.proc import CommandError, run
from gauntlet.locks.bisect.search import Outcome
from gauntlet.locks.resolvers.running import find_program

_SKIP_STATUS = 125
_NOT_RUN = (126, 127)
_VENV_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """What a probe said. ``status`` is that of the test, None where it took too long."""

    outcome: Outcome
    status: int | None
    install_s: float
    test_s: float
    tail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Where and how probes run. Times are in seconds."""

    work: Path
    command: tuple[str, ...]
    folder: Path
    python: str
    find_links: Sequence[Path] = ()
    offline: bool = False
    install_timeout_s: float = 1800.0
    test_timeout_s: float = 1800.0

    def probe(self, requirements: str) -> Probed:
        """Install and run the test; 0 is good, 125 cannot be judged, anything else is bad.

        A test that takes too long cannot be judged either. Raises InfrastructureError where the
        installation fails, which is no failure of the test; UsageError where the test cannot run.
        """
        venv = self.work / "venv"
        shutil.rmtree(venv, ignore_errors=True)
        watch = Stopwatch()
        file = write_atomic(self.work / "probe.txt", requirements)
        self._install(venv, file)
        install_s = watch.seconds
        status, tail = self._run(venv)
        if status in _NOT_RUN:
            msg = f"the test cannot be run (exit status {status}): {tail}"
            raise UsageError(msg, hint="try the command by hand in an environment of the lock")
        outcome: Outcome = "good" if status == 0 else "bad"
        if status is None or status == _SKIP_STATUS:
            outcome = "skip"
        return Probed(
            outcome=outcome,
            status=status,
            install_s=install_s,
            test_s=watch.seconds - install_s,
            tail=tail,
        )

    def _install(self, venv: Path, file: Path) -> None:
        uv = find_program("uv", remedy="pip install uv")
        options = [f"--find-links={folder.absolute()}" for folder in self.find_links]
        options += ["--no-index", "--offline"] if self.offline else []
        make = [uv, "venv", "--quiet", "--no-project", f"--python={self.python}", str(venv)]
        install = [uv, "pip", "sync", "--quiet", "--require-hashes", *options, str(file)]
        env = self._environment(venv)
        try:
            run(make, timeout=_VENV_TIMEOUT_S, env=env, supervised=True)
            run(install, timeout=self.install_timeout_s, env=env, supervised=True)
        except CommandError as error:
            msg = f"a mix could not be installed, so nothing was tested: {error.message}"
            hint = "the probes so far are kept; run it again once the index or the disk is well"
            raise InfrastructureError(msg, hint=hint) from error

    def _run(self, venv: Path) -> tuple[int | None, str]:
        env = self._environment(venv)
        program = shutil.which(self.command[0], path=env["PATH"])
        if program is None:
            msg = f"there is no program {self.command[0]}, neither in the environment nor on PATH"
            raise UsageError(msg)
        argv = [program, *self.command[1:]]
        try:
            done = run(
                argv,
                timeout=self.test_timeout_s,
                cwd=self.folder,
                env=env,
                check=False,
                supervised=True,
            )
        except CommandError as error:
            if error.result is None:
                raise
            return None, f"no end after {self.test_timeout_s:g} s"
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        return done.returncode, said[-1] if said else ""

    def _environment(self, venv: Path) -> dict[str, str]:
        """Ours, without what would let packages of another environment in."""
        inherited = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
        path = f"{venv / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        return {**inherited, "VIRTUAL_ENV": str(venv), "PATH": path}
