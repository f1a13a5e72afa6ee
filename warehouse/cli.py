"""``gauntlet warehouse``: look into the store, ship what waits."""

import json
from typing import Any

import click

from gauntlet.core.errors import UsageError
from gauntlet.warehouse.location import spool_folder, warehouse_option


@click.group()
def warehouse() -> None:
    """Look into the store of results."""


def _parameters(pairs: tuple[str, ...]) -> dict[str, Any]:
    parameters: dict[str, Any] = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator:
            raise UsageError(f"--param {pair}: expected KEY=VALUE")
        parameters[key] = value
    return parameters


def _echo_rows(rows: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(rows, default=str, indent=2))
        return
    for row in rows:
        click.echo("  ".join(f"{key}={value}" for key, value in row.items()))


@warehouse.command()
@warehouse_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status(location: str, as_json: bool) -> None:
    """Show migrations, rows per table and batches that wait in the spool."""
    from gauntlet.warehouse.records import TABLES

    from gauntlet.warehouse.spool import Spool
    from gauntlet.warehouse.store import open_store

    with open_store(location) as store:
        # The table names are ours, not anybody's input.
        rows = {name: store.sql(f"SELECT count() AS n FROM {name}")[0]["n"] for name in TABLES}  # noqa: S608
        schema = max(store.applied())
    spooled = len(Spool(spool_folder(location)).pending())
    if as_json:
        report = {"location": location, "schema": schema, "rows": rows, "spooled": spooled}
        click.echo(json.dumps(report, indent=2))
        return
    click.echo(f"{location}: schema {schema}, {spooled} batches wait in the spool")
    for name, count in rows.items():
        click.echo(f"  {name:14} {count:>10,}")


@warehouse.command()
@click.option("--dry-run", is_flag=True, help="List what waits, and ship nothing.")
@warehouse_option
def ship(dry_run: bool, location: str) -> None:
    """Ship what an interrupted run left in the spool."""
    from gauntlet.core.errors import InvalidMeasurementError
    from gauntlet.warehouse.spool import Spool
    from gauntlet.warehouse.store import open_store

    spool = Spool(spool_folder(location))
    if dry_run:
        for path in spool.pending():
            click.echo(path)
        return
    with open_store(location) as store:
        shipped = spool.ship(store)
    click.echo(f"{shipped.batches} batches, {shipped.rows} rows shipped")
    if shipped.quarantined:
        raise InvalidMeasurementError(f"in quarantine: {', '.join(shipped.quarantined)}")


@warehouse.command()
@click.argument("name")
@click.option("--param", "pairs", multiple=True, metavar="KEY=VALUE", help="Query parameter.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@warehouse_option
def query(name: str, pairs: tuple[str, ...], as_json: bool, location: str) -> None:
    """Run a named query (``gauntlet warehouse queries`` lists them)."""
    from gauntlet.warehouse.store import open_store

    with open_store(location) as store:
        _echo_rows(store.query(name, **_parameters(pairs)), as_json)


@warehouse.command()
def queries() -> None:
    """List the named queries, what each answers and its parameters."""
    from gauntlet.warehouse.queries import load_query, query_names

    for name in query_names():
        found = load_query(name)
        parameters = f" ({', '.join(found.parameters)})" if found.parameters else ""
        click.echo(f"{name}{parameters}\n    {found.question}")


@warehouse.command()
@click.argument("text")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@warehouse_option
def sql(text: str, as_json: bool, location: str) -> None:
    """Run one SELECT of your own."""
    from gauntlet.warehouse.store import open_store

    with open_store(location) as store:
        _echo_rows(store.sql(text), as_json)
