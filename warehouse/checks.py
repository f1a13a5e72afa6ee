"""Do the ledger, the rows and the roll-ups agree?"""

from dataclasses import dataclass

from gauntlet.warehouse.migrations import load_migrations, pending
from gauntlet.warehouse.store import Store
from gauntlet.warehouse.tables import TABLES

# Rows without versions: merges or not, each is there once.
_BULK = ("test_results", "test_details", "requests", "metrics", "eval_samples", "spans")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One question that was asked of the store, and the answer."""

    name: str
    ok: bool
    detail: str


def check_store(store: Store) -> list[Finding]:
    """Ask every question. Reads all batch numbers: seconds for each ten million rows."""
    missing = [str(each.number) for each in pending(load_migrations(), store.applied())]
    findings = [
        Finding(
            name="schema",
            ok=not missing,
            detail=f"migrations missing: {', '.join(missing)}" if missing else "up to date",
        )
    ]
    findings += [_ledger(store, table) for table in TABLES]
    findings += [_twice(store, table) for table in _BULK]
    findings.append(_rollup(store))
    return findings


def _ledger(store: Store, table: str) -> Finding:
    """Rows must belong to batches that arrived whole; versions of a row may be gone by now."""
    strays = store.sql(
        f"SELECT uniqExact(batch) AS n, count() AS stray_rows FROM {table}"  # noqa: S608
        " WHERE batch NOT IN (SELECT batch FROM batches WHERE table_name = {table: String})",
        {"table": table},
    )[0]
    noted = store.sql(
        "SELECT sum(newest) AS n FROM (SELECT max(rows) AS newest FROM batches"
        " WHERE table_name = {table: String} GROUP BY batch)",
        {"table": table},
    )[0]["n"]
    there = store.count(table)
    too_many = there - strays["stray_rows"] > noted
    detail = f"{there:,} rows, {noted:,} in the ledger"
    if strays["n"]:
        detail += f"; {strays['stray_rows']:,} rows of {strays['n']} batches are not in it"
    if too_many:
        detail += "; more rows than were ever sent"
    return Finding(name=f"ledger of {table}", ok=not strays["n"] and not too_many, detail=detail)


def _twice(store: Store, table: str) -> Finding:
    rows = store.count(table)
    identities = store.sql(f"SELECT count() AS n FROM {table} FINAL")[0]["n"]  # noqa: S608
    return Finding(
        name=f"no row twice in {table}",
        ok=rows == identities,
        detail=f"{rows - identities:,} of {rows:,} rows are there again",
    )


def _rollup(store: Store) -> Finding:
    rows = store.sql(
        "SELECT"
        " (SELECT count() FROM test_results WHERE toDate(started_at) > today() - 30) AS there,"
        " (SELECT sum(runs) FROM test_days WHERE day > today() - 30) AS counted"
    )[0]
    return Finding(
        name="roll-ups",
        ok=rows["there"] == rows["counted"],
        detail=f"{rows['counted']:,} test results by days, {rows['there']:,} rows, in 30 days",
    )
