"""Whether a Python on this machine has what a lock says."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gauntlet.core.errors import UsageError
from gauntlet.locks.environment.drift import Difference, Drift, find_drift
from gauntlet.locks.environment.installed import Installed, modified_files, read_python
from gauntlet.locks.lock_file import LockFile, load_lock
from gauntlet.locks.manifest import FILE, Locks


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftRequest:
    """Hold one Python against one lock: a name of ``locks.yaml`` below ``root``, or a file.

    ``python`` None takes the one that commands of a job would. ``deep`` reads every file.
    """

    lock: str
    root: Path
    manifest: str = FILE
    python: Path | None = None
    allowed: Sequence[str] = ()
    deep: bool = False


def look_for_drift(request: DriftRequest) -> tuple[Path, Installed, Drift]:
    """Read the environment and the lock, and compare them. Raises UsageError, ConfigError."""
    lock, version = _lock(request)
    python = request.python or _python_on_path()
    installed = read_python(python)
    modified = modified_files(installed) if request.deep else {}
    drift = find_drift(lock, installed, allowed=request.allowed, modified=modified)
    there = installed.markers["python_version"]
    if version and there != version:
        other = Difference(kind="version", name="python", locked=version, installed=there)
        differences = (other, *drift.differences)
        drift = Drift(lock=drift.lock, differences=differences, compared=drift.compared)
    return python, installed, drift


def _lock(request: DriftRequest) -> tuple[LockFile, str]:
    """The lock, and the Python that it is for where ``locks.yaml`` says one."""
    path = Path(request.lock)
    if path.is_file():
        return load_lock(path, file=request.lock), ""
    if (
        path.suffix == ".txt"
        or "/" in request.lock
        or not (request.root / request.manifest).exists()
    ):
        hint = f"give a lock file, or a name of {request.manifest} from the root of the repository"
        raise UsageError(f"no lock {request.lock}", hint=hint)
    locks = Locks(request.root, request.manifest)
    (name,) = locks.manifest.pick((request.lock,))
    lock = load_lock(locks.path(name), file=locks.relative(name))
    return lock, locks.manifest.python_of(name)


def _python_on_path() -> Path:
    for name in ("python", "python3"):
        if found := shutil.which(name):
            return Path(found)
    raise UsageError("there is no python on PATH", hint="give one with --python")
