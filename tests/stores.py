"""Stores for tests: one folder of chDB in this process at a time."""

import contextlib
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gauntlet.warehouse.folder_lock import lock_folder
from gauntlet.warehouse.server.launch import find
from gauntlet.warehouse.server.state import read_state
from gauntlet.warehouse.store import Store, open_embedded


@contextmanager
def embedded_store(folder: Path) -> Iterator[Store]:
    """Open a folder in this process, without the local server; for tests of what SQL says."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open_embedded(folder) as store:
        yield store


@contextmanager
def served_folder(folder: Path) -> Iterator[str]:
    """Give a folder whose local server is ended afterwards; commands start it on demand."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield str(folder)
    finally:
        stop_server(folder)


def stop_server(folder: Path) -> None:
    """End a folder's server, if it has one, and wait until it has let go of the folder."""
    state = read_state(folder.resolve()) if find(folder.resolve()) else None
    if state is None:
        return  # a file alone may name any process
    with contextlib.suppress(ProcessLookupError):
        os.kill(state.pid, signal.SIGTERM)
    lock_folder(folder.resolve(), 20).close()
