"""Stores for tests: one folder of chDB in this process at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gauntlet.warehouse.store import Store, open_embedded


@contextmanager
def embedded_store(folder: Path) -> Iterator[Store]:
    """Open a folder in this process, without the local server; for tests of what SQL says."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open_embedded(folder) as store:
        yield store
