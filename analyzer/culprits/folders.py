"""Where a search keeps its journal and its worktrees, and who may use them."""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from gauntlet.core.errors import InfrastructureError
from gauntlet.core.git import git

_KEY_LENGTH = 16


def state_folder(repository: Path, key: str) -> Path:
    """Folder of one search, beside the objects of the repository: no working tree is touched.

    Raises UsageError where there is no repository.
    """
    common = git(repository, "rev-parse", "--path-format=absolute", "--git-common-dir").rstrip("\n")
    return Path(common) / "gauntlet-bisect" / key[:_KEY_LENGTH]


def slots_folder(state: Path) -> Path:
    """Folder of the worktrees of one search: not below ``.git``, where tools overlook files.

    Private to the user. Raises InfrastructureError where somebody else made it.
    """
    folder = Path(tempfile.gettempdir()) / f"gauntlet-bisect-{os.getuid()}-{state.name}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        msg = f"cannot make {folder}: {error.strerror}"
        raise InfrastructureError(msg, hint="set TMPDIR to a folder with room") from error
    if found.st_uid != os.getuid() or folder.is_symlink():
        msg = f"{folder} belongs to somebody else"
        raise InfrastructureError(msg, hint="set TMPDIR to a folder of your own")
    return folder


@contextlib.contextmanager
def owned(state: Path) -> Iterator[None]:
    """Hold a search for ourselves; the lock ends with the process, however that ends.

    Raises InfrastructureError where another process runs the same search.
    """
    try:
        state.mkdir(parents=True, exist_ok=True)
        stream = (state / "lock").open("ab")
    except OSError as error:
        msg = f"cannot write {state}: {error.strerror}"
        raise InfrastructureError(msg, hint="the journal of a search is kept there") from error
    with stream:
        if not _locked(stream):
            msg = f"another process runs this very search (its journal is in {state})"
            raise InfrastructureError(msg, hint="wait for it, or end it first")
        yield


def remove_left(repository: Path, state: Path) -> None:
    """Remove the worktrees of searches that were killed: ours, and others that nobody runs."""
    for other in sorted(state.parent.iterdir()):
        if not (other / "lock").is_file():
            continue
        with (other / "lock").open("ab") as stream:
            # Our own lock is held by another descriptor, so it looks taken as well.
            if other == state or _locked(stream):
                shutil.rmtree(slots_folder(other), ignore_errors=True)
    git(repository, "worktree", "prune")


def _locked(stream: IO[bytes]) -> bool:
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
