"""The lock of an embedded store's folder: one process at a time, whatever happens to it."""

import fcntl
import time
from pathlib import Path
from typing import IO

from gauntlet.core.errors import InfrastructureError


class FolderInUseError(InfrastructureError):
    """Another process holds the folder, and held it for as long as we waited."""


def lock_folder(folder: Path, wait_s: float) -> IO[bytes]:
    """Take the folder's lock, which ends with its process, however that ends.

    A lock of our own, because chDB reports a held one only on the process's standard error.
    Makes the folder where there is none. Raises FolderInUseError where another process holds it
    for ``wait_s`` seconds, InfrastructureError where it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        stream = folder.with_name(f"{folder.name}.lock").open("ab")
    except OSError as error:
        msg = f"cannot open the warehouse {folder}: {error.strerror}"
        raise InfrastructureError(msg) from error
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > deadline:
                stream.close()
                msg = f"the warehouse {folder} is in use by another process"
                hint = "wait for the other command, or choose another folder"
                raise FolderInUseError(msg, hint=hint) from error
            time.sleep(0.1)
        else:
            return stream
