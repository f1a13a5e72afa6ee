"""Probes on this machine: a command, run in worktrees of its own.

Exit statuses are read as ``git bisect run`` reads them, with two differences, because runs here may
be flaky and machines busy:

=========================  ======================================================================
status                     outcome
=========================  ======================================================================
0                          passed
125                        unbuildable: this commit can never tell; also a build command that fails
1 … 124, 126, 127          failed
132 … 136, 139, 159        failed: the program crashed (ILL, TRAP, ABRT, BUS, FPE, SEGV, SYS), and a
                           commit can be the cause
any other above 127        infra: somebody ended it (KILL by a kernel short of memory, TERM, HUP)
no end within the limit    failed, or infra where so asked: a hang may be what is sought
=========================  ======================================================================
"""

import os
import shutil
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gauntlet.analyzer.culprits.model import ProbeOutcome, ProbeResult
from gauntlet.core.clock import Stopwatch
from gauntlet.core.errors import GauntletError, InfrastructureError
from gauntlet.core.git import git
from gauntlet.core.proc import CommandError, Completed, Service, run
from gauntlet.core.scoped import Scoped

# A hook of the user's repository is not part of what is tried.
_QUIET = ("-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false")
_CHECKOUT_TIMEOUT_S = 900.0
_UNBUILDABLE = 125
_PYTEST_USAGE, _PYTEST_NOTHING = 4, 5
_ABSENT_LINES = 40
_CRASHES = frozenset(128 + number for number in (4, 5, 6, 7, 8, 11, 31))
_SIGNALS = 128
_KEPT_LINES = 3
_KEPT_CHARACTERS = 300
_LOG_BYTES = 16 << 20
_POLL_S = (0.005, 0.1)
# Variables that would lead git, run by the command, back to the user's own tree.
_LEADS_GIT = frozenset(
    {
        "GIT_COMMON_DIR",
        "GIT_DIR",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_WORK_TREE",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What is run at each commit, in ``subfolder`` of its worktree; ``build`` before it, if any.

    Both see ``GAUNTLET_COMMIT``, ``GAUNTLET_SLOT`` and ``GAUNTLET_RUN``, which counts runs from 1.
    With ``absent_passes`` a test that pytest does not find has passed: what broke it added it.
    """

    argv: tuple[str, ...]
    build: tuple[str, ...] = ()
    timeout_s: float = 3600.0
    build_timeout_s: float = 3600.0
    hang: Literal["failed", "infra"] = "failed"
    subfolder: str = ""
    absent_passes: bool = False


@dataclass(slots=True)
class _Running:
    """One run that has not ended, and its present program."""

    sha: str
    where: Path
    env: Mapping[str, str]
    log: Path
    building: bool
    service: Service
    watch: Stopwatch


class Worktrees(Scoped):
    """Runs a command at commits of a repository; the user's own working tree is never touched."""

    def __init__(
        self, repository: Path, folder: Path, command: Command, *, logs: Path, slots: int = 1
    ) -> None:
        """Use up to ``slots`` worktrees at once, made in ``folder`` when they are needed.

        What the runs write is kept in ``logs``, at most 16 MiB of each.
        """
        self._repository = repository
        self._folder = folder
        self._command = command
        self._logs = logs
        self._slots = max(1, slots)
        self._runs = sum(1 for _ in logs.glob("*.log")) if logs.is_dir() else 0

    def close(self) -> None:
        """Remove the worktrees. Safe to call again."""
        for slot in range(self._slots):
            if self._path(slot).exists():
                remove = ("worktree", "remove", "--force", "--force", str(self._path(slot)))
                with suppress(GauntletError):
                    git(self._repository, *remove)
        shutil.rmtree(self._folder, ignore_errors=True)
        with suppress(GauntletError):
            git(self._repository, "worktree", "prune")

    def probe(self, shas: Sequence[str]) -> Generator[ProbeResult, None, None]:
        """Run once at each commit, as many at once as there are slots; results as they come.

        Raises InfrastructureError where a worktree cannot be made.
        """
        waiting = list(shas)
        running: dict[int, _Running] = {}
        pause = _POLL_S[0]
        try:
            while waiting or running:
                for slot in range(self._slots):
                    if waiting and slot not in running:
                        begun = self._begin(slot, waiting.pop(0))
                        if isinstance(begun, ProbeResult):
                            yield begun
                        else:
                            running[slot] = begun
                for slot, each in list(running.items()):
                    result = self._look(each)
                    if result is not None:
                        del running[slot]
                        pause = _POLL_S[0]
                        yield result
                if running:
                    time.sleep(pause)
                    pause = min(2 * pause, _POLL_S[1])
        finally:
            for each in running.values():
                each.service.close()

    def measure(self, sha: str) -> Completed | ProbeResult:
        """Run once at one commit; what the command wrote, or why it could not be run."""
        self._runs += 1
        where = self._at(0, sha)
        env = self._environment(0, sha)
        command = self._command
        if not (where / command.subfolder).is_dir():
            return self._without_folder(sha)
        try:
            if command.build:
                built = _run(command.build, command.build_timeout_s, where / command.subfolder, env)
                if built.returncode != 0:
                    outcome = of_build(built.returncode)
                    seconds, told = built.seconds, f"build: {said(built)}"
                    return ProbeResult(sha=sha, outcome=outcome, seconds=seconds, evidence=told)
            return _run(command.argv, command.timeout_s, where / command.subfolder, env)
        except CommandError as error:
            if error.result is None:
                raise
            seconds, told = error.result.seconds, error.message.splitlines()[0]
            return ProbeResult(sha=sha, outcome="infra", seconds=seconds, evidence=told)

    def _begin(self, slot: int, sha: str) -> _Running | ProbeResult:
        self._runs += 1
        where = self._at(slot, sha) / self._command.subfolder
        if not where.is_dir():
            return self._without_folder(sha)
        env = self._environment(slot, sha)
        log = self._logs / f"{self._runs:04}-{sha[:12]}.log"
        building = bool(self._command.build)
        argv = self._command.build if building else self._command.argv
        service = Service(argv, log=log, cwd=where, env=env, log_limit=_LOG_BYTES)
        return _Running(
            sha=sha,
            where=where,
            env=env,
            log=log,
            building=building,
            service=service,
            watch=Stopwatch(),
        )

    def _look(self, each: _Running) -> ProbeResult | None:
        """The result of a run that has ended or must end; None while it goes on."""
        command, status = self._command, each.service.returncode
        limit = command.build_timeout_s if each.building else command.timeout_s
        if status is None and each.watch.seconds < limit:
            return None
        seconds = each.watch.seconds
        each.service.close()
        if status is None:
            outcome: ProbeOutcome = "unbuildable" if each.building else command.hang
            return _result(each, outcome, seconds, f"no end after {limit:g} s")
        if each.building and status == 0:
            each.building = False
            each.service = Service(
                command.argv, log=each.log, cwd=each.where, env=each.env, log_limit=_LOG_BYTES
            )
            each.watch = Stopwatch()
            return None
        outcome = of_build(status) if each.building else outcome_of(status)
        if command.absent_passes and not each.building and _absent(status, each.service):
            return _result(each, "passed", seconds, f"exit {status}, there is no such test")
        return _result(each, outcome, seconds, f"{'build ' * each.building}exit {status}")

    def _without_folder(self, sha: str) -> ProbeResult:
        missing = f"the commit has no folder {self._command.subfolder}"
        return ProbeResult(sha=sha, outcome="unbuildable", seconds=0.0, evidence=missing)

    def _path(self, slot: int) -> Path:
        return self._folder / f"slot-{slot}"

    def _at(self, slot: int, sha: str) -> Path:
        """Bring the worktree of a slot to a commit, with nothing left of what ran there before."""
        path = self._path(slot)
        try:
            if path.exists():
                reset = ("reset", "--hard", "--quiet", sha)
                git(path, *_QUIET, *reset, timeout=_CHECKOUT_TIMEOUT_S)
                git(path, "clean", "-ffdxq", timeout=_CHECKOUT_TIMEOUT_S)
            else:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                add = ("worktree", "add", "--detach", "--force", str(path), sha)
                git(self._repository, *_QUIET, *add, timeout=_CHECKOUT_TIMEOUT_S)
        except (GauntletError, OSError) as error:
            shutil.rmtree(path, ignore_errors=True)
            msg = f"cannot check out {sha} in {path}: {error}"
            raise InfrastructureError(msg, hint="is there room on the disk?") from error
        return path

    def _environment(self, slot: int, sha: str) -> Mapping[str, str]:
        kept = {key: value for key, value in os.environ.items() if key not in _LEADS_GIT}
        told = {"COMMIT": sha, "SLOT": str(slot), "RUN": str(self._runs)}
        return kept | {f"GAUNTLET_{key}": value for key, value in told.items()}


def _absent(status: int, service: Service) -> bool:
    """Whether pytest found no such test; its status 4 is also that of a broken conftest."""
    if status == _PYTEST_NOTHING:
        return True
    return status == _PYTEST_USAGE and "not found: " in service.log_tail(_ABSENT_LINES)


def _run(argv: Sequence[str], timeout: float, where: Path, env: Mapping[str, str]) -> Completed:
    return run(argv, timeout=timeout, cwd=where, env=env, check=False, supervised=True)


def _result(each: _Running, outcome: ProbeOutcome, seconds: float, how: str) -> ProbeResult:
    last = _last(each.service.log_tail())
    evidence = f"{how}{': ' * bool(last)}{last} ({each.log})"
    return ProbeResult(sha=each.sha, outcome=outcome, seconds=seconds, evidence=evidence)


def outcome_of(status: int) -> ProbeOutcome:
    """Read an exit status (128 + signal where a signal ended it), by the table above."""
    if status == 0:
        return "passed"
    if status == _UNBUILDABLE:
        return "unbuildable"
    if 0 < status <= _SIGNALS or status in _CRASHES:
        return "failed"
    return "infra"


def of_build(status: int) -> ProbeOutcome:
    """What a build that failed says: nothing of the commit where somebody ended it."""
    return "infra" if outcome_of(status) == "infra" else "unbuildable"


def said(done: Completed) -> str:
    """The status of a run and its last words, in one line."""
    last = _last(done.stdout.rstrip() + "\n" + done.stderr.rstrip())
    return f"exit {done.returncode}{': ' * bool(last)}{last}"


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " | ".join(lines[-_KEPT_LINES:])[-_KEPT_CHARACTERS:]
