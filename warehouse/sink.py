"""A sink for programs that listen for long: safe on disk at once, shipped a moment later."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gauntlet.warehouse.batch import Batch
from gauntlet.warehouse.delivery import Delivery

_LOGGER = logging.getLogger(__name__)


@contextmanager
def open_sink(location: str, *, every_s: float = 5.0) -> Iterator[Callable[[Batch], None]]:
    """Give a function that keeps a batch before it returns; a thread ships what was kept.

    What cannot be shipped waits in the spool and is tried again with the next batch. The function
    raises InfrastructureError where the disk refuses.
    """
    delivery, kept, ended = Delivery(location), threading.Event(), threading.Event()

    def keep(batch: Batch) -> None:
        delivery(batch)
        kept.set()

    def ship_on() -> None:
        while not ended.wait(every_s):
            if kept.is_set():
                kept.clear()
                _ship(delivery)

    shipper = threading.Thread(target=ship_on, name="ship", daemon=True)
    shipper.start()
    try:
        yield keep
    finally:
        ended.set()
        shipper.join()
        _ship(delivery)


def _ship(delivery: Delivery) -> None:
    # A connection for each round: the local server ends when nobody asks for a while.
    with delivery:
        stopped = delivery.ship().stopped
    if stopped is not None:
        _LOGGER.warning("kept in the spool: %s", stopped.message)
