"""The local spool: a batch is safe on disk before anything tries to ship it.

One file per batch, written whole and synced, named by time and batch id. Shipping inserts the
batch under its id as token and then removes the file, so that a kill at any moment loses nothing
and a second try stores nothing twice.
"""

from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from gauntlet.core.files import write_atomic
from gauntlet.warehouse.records import Batch
from gauntlet.warehouse.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Shipped:
    """What one round of shipping did."""

    batches: int
    rows: int
    quarantined: tuple[str, ...]


class Spool:
    """A folder of batches that wait to be shipped."""

    def __init__(self, folder: Path) -> None:
        self._pending = folder / "pending"
        self._quarantine = folder / "quarantine"

    def add(self, batch: Batch) -> Path:
        """Keep a batch on disk; it survives a crash from the moment this returns.

        Raises InfrastructureError where the disk refuses.
        """
        stamp = f"{batch.created_at:%Y%m%dT%H%M%S%f}"
        name = f"{stamp}-{batch.batch_id.replace('/', '_')}.json"
        return write_atomic(self._pending / name, batch.model_dump_json(), fsync=True)

    def pending(self) -> list[Path]:
        """Files still to be shipped, oldest first."""
        return sorted(self._pending.glob("*.json"))

    def ship(self, store: Store) -> Shipped:
        """Insert every pending batch; one that cannot be read goes to quarantine with its reason.

        Raises ExternalServiceError where the store refuses; what is pending stays pending.
        """
        batches = rows = 0
        quarantined = []
        for path in self.pending():
            try:
                batch = Batch.model_validate_json(path.read_bytes())
            except FileNotFoundError:
                continue  # another shipper was quicker
            except ValidationError as error:
                self._set_aside(path, str(error))
                quarantined.append(path.name)
                continue
            store.insert(batch)
            path.unlink(missing_ok=True)
            batches += 1
            rows += sum(map(len, batch.by_table().values()))
        return Shipped(batches=batches, rows=rows, quarantined=tuple(quarantined))

    def _set_aside(self, path: Path, reason: str) -> None:
        target = self._quarantine / path.name
        write_atomic(target.with_suffix(".reason.txt"), reason)
        path.replace(target)
