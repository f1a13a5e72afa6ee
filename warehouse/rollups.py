"""Roll-ups of days: computed whole from the rows, pointed at last, computed anew when stale.

A materialized view would add what is inserted twice twice, and a process that is killed between
the rows and the view would leave them apart for good. Here a day's roll-up is a new generation of
rows that nobody reads until one line in ``rollup_days`` points at it; the line says how many
batches the ledger held, so that a later batch makes the day stale, whatever any clock says.
"""

import secrets
from dataclasses import dataclass
from datetime import date
from importlib.resources import files

from gauntlet.warehouse.store import Store

_RANDOM_BITS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleDay:
    """A day whose roll-up does not hold all that the store holds."""

    target: str
    day: date
    batches: int
    generation: int


def stale_days(store: Store) -> list[StaleDay]:
    """Days to compute, oldest first."""
    rows = store.sql(
        "SELECT * FROM (SELECT * FROM stale_test_days UNION ALL SELECT * FROM stale_job_days)"
        " ORDER BY day, target"
    )
    return [StaleDay(**row) for row in rows]


def roll_up(store: Store) -> list[StaleDay]:
    """Compute every stale day; return what was computed."""
    done = stale_days(store)
    for stale in done:
        _roll_up_day(store, stale)
    return done


def _roll_up_day(store: Store, stale: StaleDay) -> None:
    text = (
        files("gauntlet.warehouse")
        .joinpath("schema", "rollups", f"{stale.target}.sql")
        .read_text("utf-8")
    )
    generation = _unused_generation(store, stale)
    store.command(text, {"day": stale.day, "generation": generation})
    store.command(
        "INSERT INTO rollup_days VALUES"
        " ({target: String}, {day: Date}, {generation: UInt32}, {batches: UInt64})",
        {
            "target": stale.target,
            "day": stale.day,
            "generation": generation,
            "batches": stale.batches,
        },
    )
    if generation >> _RANDOM_BITS == 1:
        return  # the first of its day: there is no earlier one to remove
    store.command(
        f"DELETE FROM {stale.target} WHERE day = {{day: Date}}"  # noqa: S608
        " AND generation < {generation: UInt32}",
        {"day": stale.day, "generation": generation},
    )


def _unused_generation(store: Store, stale: StaleDay) -> int:
    """More than any: a roll-up that was killed left rows of a generation without its line.

    The low bits are random, so that two who compute the same day at once do not add up.
    """
    rows = store.sql(
        f"SELECT max(generation) AS newest FROM {stale.target} WHERE day = {{day: Date}}",  # noqa: S608
        {"day": stale.day},
    )
    newest = max(stale.generation, int(rows[0]["newest"]))
    return ((newest >> _RANDOM_BITS) + 1 << _RANDOM_BITS) | secrets.randbits(_RANDOM_BITS)
