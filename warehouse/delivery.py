"""Deliver batches: to the spool, which cannot lose them, and from there to the store."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from gauntlet.core.errors import GauntletError
from gauntlet.warehouse.batch import Batch
from gauntlet.warehouse.location import spool_folder
from gauntlet.warehouse.shipping import Shipped, ship
from gauntlet.warehouse.spool import Spool
from gauntlet.warehouse.store import open_store


@dataclass(slots=True)
class Receipt:
    """What became of what was handed in; complete once the delivery is closed.

    ``spooled`` are rows that are safe on disk and not in the store yet.
    """

    handed_in: int = 0
    rejected: int = 0
    shipped: Shipped = field(default_factory=Shipped)
    spooled: int = 0


class Delivery:
    """Takes batches and keeps them safe at once; ships when closed."""

    def __init__(self, location: str) -> None:
        self._location = location
        self._spool = Spool(spool_folder(location))
        self.receipt = Receipt()

    def __call__(self, *batches: Batch) -> None:
        """Keep batches as one parcel. Raises InfrastructureError where the disk refuses."""
        self._spool.add(*batches)
        for batch in batches:
            rejected = batch.table_rows().get("rejected_rows", 0)
            self.receipt.handed_in += batch.rows - rejected
            self.receipt.rejected += rejected

    def ship(self, *, wait_s: float = 30.0) -> Receipt:
        """Ship what waits, of this delivery or of earlier ones; never raises for the store."""
        receipt = self.receipt
        try:
            with open_store(self._location, wait_s=wait_s) as store:
                receipt.shipped = ship(self._spool, store)
        except GauntletError as error:
            receipt.shipped = Shipped(waiting=len(self._spool.pending()), stopped=error)
        if receipt.shipped.stopped is not None:
            receipt.spooled = self._spool.rows()
        return receipt


def deliver(location: str, batches: Iterable[Batch]) -> Receipt:
    """Keep batches and ship them. Raises what the store refused with; they stay spooled then."""
    delivery = Delivery(location)
    for batch in batches:
        delivery(batch)
    receipt = delivery.ship()
    if receipt.shipped.stopped is not None:
        receipt.shipped.stopped.add_note("everything is safe in the spool: gauntlet ingest replay")
        raise receipt.shipped.stopped
    return receipt


@contextmanager
def open_delivery(location: str) -> Iterator[Delivery]:
    """Collect batches; what was kept is shipped at the end, also after an error."""
    delivery = Delivery(location)
    try:
        yield delivery
    finally:
        delivery.ship()
