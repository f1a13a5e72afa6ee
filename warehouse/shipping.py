"""From the spool into the store: in order, once, and whatever refuses does not stop the rest.

Three things keep a row from being stored twice, and none trusts the others. The ledger knows each
batch that arrived whole. What was tried before and is not in the ledger is looked for by its
number, table by table, and what is there of it is not sent again. And every table replaces rows
of one identity, so that a copy that slips in all the same (a server that still worked on an insert
when the connection was cut) becomes one row again.
"""

import json
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gauntlet.core.errors import GauntletError
from gauntlet.warehouse.batch import Batch, Block, join_sections
from gauntlet.warehouse.engine_errors import RefusedRowsError
from gauntlet.warehouse.spool import Parcel, Spool
from gauntlet.warehouse.store import Store
from gauntlet.warehouse.tables import ROW_MODELS

_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shipped:
    """What one round of shipping did; ``stopped`` is why it ended early, if it did."""

    batches: int = 0
    stored: Mapping[str, int] = field(default_factory=dict)
    duplicates: int = 0
    quarantined: tuple[str, ...] = ()
    waiting: int = 0
    stopped: GauntletError | None = None

    @property
    def rows(self) -> int:
        """Rows stored, of all tables."""
        return sum(self.stored.values())


@dataclass(slots=True)
class _Totals:
    batches: int = 0
    duplicates: int = 0
    stored: Counter[str] = field(default_factory=Counter)
    quarantined: list[str] = field(default_factory=list)


def ship(spool: Spool, store: Store) -> Shipped:
    """Ship everything that waits, oldest first.

    What is damaged or refused by the store goes to quarantine with the reason. A store that
    cannot be reached, or is full, ends the round (``stopped``); what waits goes on waiting.
    """
    totals = _Totals()
    stopped = None
    with spool.shipping():
        for parcel in spool.pending():
            try:
                _ship_parcel(spool, parcel, store, totals)
            except GauntletError as error:
                stopped = error
                break
        waiting = len(spool.pending())
    return Shipped(
        batches=totals.batches,
        stored=dict(totals.stored),
        duplicates=totals.duplicates,
        quarantined=tuple(totals.quarantined),
        waiting=waiting,
        stopped=stopped,
    )


def ship_all(spool: Spool, store: Store) -> Shipped:
    """Ship, and raise what ended the round early; a batch in quarantine is logged."""
    shipped = ship(spool, store)
    for name in shipped.quarantined:
        _LOGGER.warning("the store refused %s: see gauntlet ingest status", name)
    if shipped.stopped is not None:
        raise shipped.stopped
    return shipped


def _ship_parcel(spool: Spool, parcel: Parcel, store: Store, totals: _Totals) -> None:
    tried = parcel.tried
    fresh: list[Batch] = []
    try:
        batches = parcel.read()
        known = store.known_batches(batches)
        fresh = list({each.number: each for each in batches if each.number not in known}.values())
        if fresh:
            parcel = spool.mark_tried(parcel)
            _store(fresh, store, totals, tried=tried)
    except FileNotFoundError:
        return  # removed by hand meanwhile
    except RefusedRowsError as error:
        if len(fresh) == 1:
            totals.quarantined.append(spool.set_aside(parcel, str(error)).name)
        else:
            # Somebody's rows are at fault, not everybody's: each batch gets a parcel of its own.
            for single in spool.split(parcel, fresh):
                _ship_parcel(spool, single, store, totals)
        return
    except ValueError as error:
        totals.quarantined.append(spool.set_aside(parcel, str(error)).name)
        return
    totals.duplicates += sum(each.told_rows for each in batches)
    totals.duplicates -= sum(each.told_rows for each in fresh)
    totals.batches += len(fresh)
    spool.remove(parcel)


def _store(batches: Sequence[Batch], store: Store, totals: _Totals, *, tried: bool) -> None:
    """Insert the sections of all batches, table by table, then their lines in the ledger.

    Raises RefusedRowsError; then nothing of them is left in the store.
    """
    stored: Counter[str] = Counter()
    duplicates = 0
    try:
        for block in join_sections(batches):
            fresh, known = without_known_versions(block, store)
            duplicates += known
            if not fresh.rows:
                continue
            _insert(fresh, store, tried=tried)
            stored[block.table] += fresh.rows
        store.note_batches(batches)
    except RefusedRowsError:
        for block in join_sections(batches):
            store.forget(block.table, block.batches, block.days)
        raise
    totals.stored.update(stored)
    totals.duplicates += duplicates


def _insert(block: Block, store: Store, *, tried: bool) -> None:
    """Insert rows and see that they are there; where it was tried before, only what is not."""
    rest = block
    if tried:
        store.await_insert(block)
        rest = _missing(block, store)
        if not rest.rows:
            return
    store.insert_block(rest)
    lost = _missing(rest, store)
    if lost.rows:
        # The server remembers the token of rows that were deleted since (by hand, by a dropped
        # partition) and says yes without storing; they are new rows now.
        store.insert_block(lost, fresh_token=True)


def _missing(block: Block, store: Store) -> Block:
    """Return what is not there of a block; what is there of half a batch is removed."""
    there = store.batch_counts(block.table, block.batches, block.days)
    half = {number for number, part in block.parts.items() if 0 < there.get(number, 0) < part.rows}
    if half:
        store.forget(block.table, half, block.days)
    whole = {number for number, part in block.parts.items() if there.get(number, 0) >= part.rows}
    return block.without(whole)


def without_known_versions(block: Block, store: Store) -> tuple[Block, int]:
    """Drop rows whose version, or a later one, the store has; return the rest and how many went.

    Sources tell the same state again and again (every fifteen minutes, and in every event).
    """
    model = ROW_MODELS.get(block.table)
    if model is None or model.order is None:
        return block, 0
    lines = {number: part.payload.splitlines(keepends=True) for number, part in block.parts.items()}
    rows = {number: [json.loads(line) for line in found] for number, found in lines.items()}
    versions = store.versions(model, [row for found in rows.values() for row in found])
    kept: dict[int, list[bytes]] = {}
    for number, found in rows.items():
        kept[number] = []
        for line, row in zip(lines[number], found, strict=True):
            identity = tuple(str(row[name]) for name in model.identity)
            if row[model.order] > versions.get(identity, -1):
                kept[number].append(line)
                versions[identity] = row[model.order]
    fresh = block.replaced({number: (len(some), b"".join(some)) for number, some in kept.items()})
    return fresh, block.rows - fresh.rows
