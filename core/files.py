"""Files that are either whole or not there."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gauntlet.core.errors import InfrastructureError


def write_atomic(
    path: Path, data: str | bytes, *, fsync: bool = False, mode: int | None = None
) -> Path:
    """Write a file so that a reader, or a crash, never sees half of it.

    ``mode`` are its permissions; where none are given the umask decides. What is there and is no
    regular file (``/dev/null``, a pipe) is written to, not replaced.
    Raises InfrastructureError where the disk or the permissions refuse.
    """
    raw = data.encode() if isinstance(data, str) else data
    temporary = ""
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(raw)
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(descriptor, "wb") as stream:
            # mkstemp makes the file private; what is written here is as public as any other.
            os.fchmod(stream.fileno(), 0o666 & ~_umask() if mode is None else mode)
            stream.write(raw)
            stream.flush()
            if fsync:
                os.fsync(stream.fileno())
        Path(temporary).replace(path)
        if fsync:
            sync_folder(path.parent)
    except OSError as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        msg = f"cannot write {path}: {error.strerror or error}"
        raise InfrastructureError(msg, hint="free some space or choose another folder") from error
    return path


@contextmanager
def sole_holder(path: Path, *, busy: str) -> Iterator[None]:
    """Hold a lock file, which ends with its process, however that ends.

    Raises InfrastructureError that says ``busy`` where another process holds it, and where the
    file cannot be made.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = path.open("w")
    except OSError as error:
        msg = f"cannot write {path}: {error.strerror}"
        raise InfrastructureError(
            msg, hint="may you write to its folder? choose another one"
        ) from error
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InfrastructureError(busy, hint="wait for its end") from error
        yield


def sync_folder(folder: Path) -> None:
    """Make sure that names made or changed in a folder survive a crash of the machine."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    value = os.umask(0)
    os.umask(value)
    return value
