"""The local spool: a batch is safe on disk before anything tries to ship it.

One file, a parcel, holds one batch or many that are shipped together; it is written whole and
synced. It is ``.batch`` until the first try to ship it and ``.sent`` from just before that try on,
so that after a kill it is known what may have reached the store already. What the store refuses for
good goes to quarantine with the reason.
"""

import fcntl
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gauntlet.core.errors import InfrastructureError
from gauntlet.core.files import sync_folder, write_atomic
from gauntlet.warehouse.batch import Batch, load_batches

_SENT = ".sent"


@dataclass(frozen=True, slots=True)
class Parcel:
    """One file of the spool."""

    path: Path

    @property
    def tried(self) -> bool:
        """Whether somebody began to ship it."""
        return self.path.suffix == _SENT

    def read(self) -> list[Batch]:
        """Read its batches. Raises ValueError where the file is damaged."""
        return load_batches(self.path.read_bytes())


class Spool:
    """A folder of batches that wait to be shipped."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._pending = folder / "pending"
        self.quarantine = folder / "quarantine"

    def add(self, *batches: Batch) -> Path:
        """Keep batches on disk as one parcel; it survives a crash from the moment this returns.

        Raises InfrastructureError where the disk refuses.
        """
        # Two parcels may begin alike at the same instant, and neither may replace the other.
        stamp, ours = f"{batches[0].created_at:%Y%m%dT%H%M%S%f}", secrets.token_hex(8)
        path = self._pending / f"{stamp}-{ours}.batch"
        return write_atomic(path, b"".join(batch.dump() for batch in batches), fsync=True)

    def split(self, parcel: Parcel, batches: Sequence[Batch]) -> list[Parcel]:
        """Give each batch a parcel of its own, marked as tried, in place of ``parcel``."""
        singles = []
        for index, batch in enumerate(batches):
            path = parcel.path.with_name(f"{parcel.path.stem}-{index:04}{_SENT}")
            singles.append(Parcel(write_atomic(path, batch.dump(), fsync=True)))
        self.remove(parcel)
        return singles

    def pending(self) -> list[Parcel]:
        """What is still to be shipped, oldest first."""
        if not self._pending.is_dir():
            return []
        names = sorted(path for path in self._pending.iterdir() if path.suffix in {".batch", _SENT})
        return [Parcel(path) for path in names]

    def rows(self) -> int:
        """Rows that wait; a damaged parcel counts none, it is told apart when it is shipped."""
        count = 0
        for parcel in self.pending():
            try:
                count += sum(batch.told_rows for batch in parcel.read())
            except (ValueError, FileNotFoundError):
                continue
        return count

    def mark_tried(self, parcel: Parcel) -> Parcel:
        """Note that the store may have it from now on."""
        if parcel.tried:
            return parcel
        moved = parcel.path.with_suffix(_SENT)
        parcel.path.rename(moved)
        sync_folder(self._pending)
        return Parcel(moved)

    def remove(self, parcel: Parcel) -> None:
        """Forget a batch that the store has."""
        parcel.path.unlink(missing_ok=True)

    def set_aside(self, parcel: Parcel, reason: str) -> Path:
        """Move a batch that cannot be shipped to quarantine, beside its reason."""
        target = self.quarantine / f"{parcel.path.stem}.batch"
        write_atomic(target.with_suffix(".reason.txt"), reason + "\n")
        parcel.path.replace(target)
        return target

    def set_asides(self) -> list[tuple[Path, str]]:
        """Batches in quarantine, each with its reason."""
        found = sorted(self.quarantine.glob("*.batch")) if self.quarantine.is_dir() else []
        return [(path, path.with_suffix(".reason.txt").read_text().strip()) for path in found]

    def release(self) -> int:
        """Put what is in quarantine back among the pending, to be tried again; return how many."""
        found = self.set_asides()
        for path, _ in found:
            self._pending.mkdir(parents=True, exist_ok=True)
            path.replace(self._pending / path.with_suffix(_SENT).name)
            path.with_suffix(".reason.txt").unlink(missing_ok=True)
        return len(found)

    @contextmanager
    def shipping(self, wait_s: float = 600.0) -> Iterator[None]:
        """Hold the spool's lock: one shipper at a time, or two would send the same batch.

        Raises InfrastructureError where another shipper holds it longer than ``wait_s``.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            stream = (self.folder / "shipping.lock").open("ab")
        except OSError as error:
            raise InfrastructureError(
                f"cannot open the spool {self.folder}: {error.strerror}"
            ) from error
        with stream:
            deadline = time.monotonic() + wait_s
            while True:
                try:
                    fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError as error:
                    if time.monotonic() > deadline:
                        msg = f"the spool {self.folder} is being shipped by another process"
                        raise InfrastructureError(msg, hint="wait for it to end") from error
                    time.sleep(0.05)
            yield
