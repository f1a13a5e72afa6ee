"""``gauntlet warehouse status``, ``queries``, ``query`` and ``sql``."""

import json
from typing import Any

import click

from gauntlet.warehouse.ingest.identity_options import pairs_of
from gauntlet.warehouse.location import spool_folder, warehouse_option

_WIDEST = 40


def echo_rows(rows: list[dict[str, Any]], *, as_json: bool) -> None:
    """Print rows as JSON, or as a table for people."""
    if as_json:
        click.echo(json.dumps(rows, default=_plain, indent=2))
        return
    if not rows:
        click.echo("no rows", err=True)
        return
    table = [[_cell(value) for value in row.values()] for row in rows]
    widths = [max(map(len, column)) for column in zip(list(rows[0]), *table, strict=True)]
    for line in [list(rows[0]), *table]:
        click.echo(
            "  ".join(f"{cell:{width}}" for cell, width in zip(line, widths, strict=True)).rstrip()
        )


def _plain(value: object) -> object:
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    text = (
        f"{value:.6g}"
        if isinstance(value, float)
        else str(_plain(value) if not isinstance(value, str | int | list | dict) else value)
    )
    text = text.replace("\n", "\\n")
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


@click.command()
@warehouse_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status(location: str, as_json: bool) -> None:
    """Show the schema, rows per table, days to roll up, freshness and what waits in the spool."""
    from gauntlet.warehouse.rollups import stale_days
    from gauntlet.warehouse.spool import Spool
    from gauntlet.warehouse.store import open_store
    from gauntlet.warehouse.tables import TABLES

    with open_store(location) as store:
        report = {
            "location": location,
            "schema": max(each.number for each in store.applied()),
            "rows": {name: store.count(name) for name in TABLES},
            "stale_days": len(stale_days(store)),
            "freshness": store.query("freshness"),
            "spooled": Spool(spool_folder(location)).rows(),
        }
    if as_json:
        click.echo(json.dumps(report, default=_plain, indent=2))
        return
    click.echo(
        f"{location}: schema {report['schema']}, {report['stale_days']} days to roll up,"
        f" {report['spooled']:,} rows wait in the spool"
    )
    for name, count in report["rows"].items():  # type: ignore[attr-defined]
        click.echo(f"  {name:14} {count:>13,}")
    for source in report["freshness"]:  # type: ignore[attr-defined]
        click.echo(f"  last from {source['source']}: {source['age_s']:,} s ago")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def queries(as_json: bool) -> None:
    """List the named queries, what each answers and its parameters."""
    from gauntlet.warehouse.named_queries import load_query, query_names

    found = [load_query(name) for name in query_names()]
    if as_json:
        listed = [
            {
                "name": query.name,
                "question": query.question,
                "parameters": [
                    {"name": p.name, "type": p.type, "meaning": p.meaning, "default": p.default}
                    for p in query.parameters
                ],
            }
            for query in found
        ]
        click.echo(json.dumps(listed, indent=2))
        return
    for query in found:
        click.echo(f"{query.name}\n    {query.question}")
        for p in query.parameters:
            default = "required" if p.default is None else f"default {p.default or 'empty'}"
            click.echo(f"    --param {p.name}=…  {p.meaning} ({default})")


@click.command()
@click.argument("name")
@click.option("--param", "pairs", multiple=True, metavar="KEY=VALUE", help="Query parameter.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@warehouse_option
def query(name: str, pairs: tuple[str, ...], as_json: bool, location: str) -> None:
    """Run a named query (``gauntlet warehouse queries`` lists them)."""
    from gauntlet.warehouse.named_queries import load_query
    from gauntlet.warehouse.store import open_store

    # Before anything is started: a wrong name or parameter needs no store.
    values = load_query(name).values(pairs_of(pairs, "--param"))
    with open_store(location) as store:
        echo_rows(store.query(name, **values), as_json=as_json)


@click.command()
@click.argument("text")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@warehouse_option
def sql(text: str, as_json: bool, location: str) -> None:
    """Run one SELECT of your own; statements that change something are refused."""
    from gauntlet.warehouse.store import open_store

    with open_store(location) as store:
        echo_rows(store.read_only(text), as_json=as_json)
