"""Deliver batches: to the spool, which cannot lose them, and from there to the store."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from gauntlet.core.errors import GauntletError
from gauntlet.core.scoped import Scoped
from gauntlet.warehouse.batch import Batch
from gauntlet.warehouse.location import spool_folder
from gauntlet.warehouse.rollups import roll_up
from gauntlet.warehouse.shipping import ship
from gauntlet.warehouse.spool import Spool
from gauntlet.warehouse.store import Store, open_store


@dataclass(slots=True)
class Receipt:
    """What became of what was handed in, after any number of shipments.

    ``stopped`` is why the last one ended early; ``spooled`` are rows that are safe on disk then,
    and not in the store yet.
    """

    batches: int = 0
    stored: Counter[str] = field(default_factory=Counter)
    duplicates: int = 0
    quarantined: list[str] = field(default_factory=list)
    spooled: int = 0
    stopped: GauntletError | None = None


class Delivery(Scoped):
    """Takes batches and keeps them safe at once; ships when asked."""

    def __init__(self, location: str) -> None:
        self._location = location
        self._store: Store | None = None
        self.spool = Spool(spool_folder(location))
        self.receipt = Receipt()

    def __call__(self, *batches: Batch) -> None:
        """Keep batches as one parcel. Raises InfrastructureError where the disk refuses."""
        self.spool.add(*batches)

    def ship(self, *, wait_s: float = 8.0) -> Receipt:
        """Ship what waits, of this delivery or of earlier ones; never raises for the store.

        It does not wait long for a store: what is in the spool is safe.
        """
        receipt = self.receipt
        try:
            if self._store is None:
                self._store = open_store(self._location, wait_s=wait_s)
            shipped = ship(self.spool, self._store)
        except GauntletError as error:
            receipt.stopped = error
        else:
            receipt.stopped = shipped.stopped
            receipt.batches += shipped.batches
            receipt.stored.update(shipped.stored)
            receipt.duplicates += shipped.duplicates
            receipt.quarantined.extend(shipped.quarantined)
        receipt.spooled = self.spool.rows() if receipt.stopped is not None else 0
        return receipt

    def roll_up(self) -> None:
        """Compute the days that changed, where the store could be reached."""
        if self._store is None or self.receipt.stopped is not None:
            return
        try:
            roll_up(self._store)
        except GauntletError as error:
            self.receipt.stopped = error

    def close(self) -> None:
        """Close the connection to the store, if there is one."""
        if self._store is not None:
            self._store.close()
            self._store = None


def deliver(location: str, batches: Iterable[Batch]) -> Receipt:
    """Keep batches and ship them. Raises what the store refused with; they stay spooled then."""
    with Delivery(location) as delivery:
        for batch in batches:
            delivery(batch)
        receipt = delivery.ship()
    if receipt.stopped is not None:
        receipt.stopped.add_note("everything is safe in the spool: gauntlet ingest replay")
        raise receipt.stopped
    return receipt
