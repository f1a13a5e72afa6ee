"""What waits beside the warehouse: read from its spool's folder, where that is on this machine."""

from dataclasses import dataclass

from gauntlet.warehouse.location import spool_folder
from gauntlet.warehouse.spool import Spool


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Parcels and rows that are not shipped yet, and what was set aside: file name and reason."""

    folder: str
    parcels: int
    rows: int
    set_aside: tuple[tuple[str, str], ...]


def load_waiting(location: str) -> Waiting:
    """Look into the spool of a warehouse."""
    spool = Spool(spool_folder(location))
    return Waiting(
        folder=str(spool.folder),
        parcels=len(spool.pending()),
        rows=spool.rows(),
        set_aside=tuple((path.name, reason) for path, reason in spool.set_asides()),
    )


def is_local(location: str) -> bool:
    """Whether what ships to a warehouse does so from this machine, so that its spool is here."""
    return not location.startswith(("http://", "https://"))
