"""``gauntlet warehouse``: make, look into and keep the store."""

import click

from gauntlet.core.lazy_group import LazyGroup

_HERE = "gauntlet.warehouse"
COMMANDS = {
    "init": (f"{_HERE}.schema_command", "init", "Make a warehouse."),
    "migrate": (f"{_HERE}.schema_command", "migrate", "Bring the schema up to date."),
    "status": (f"{_HERE}.look_command", "status", "Show schema, rows and what waits."),
    "check": (f"{_HERE}.check_command", "check", "Prove that the books agree with the rows."),
    "queries": (f"{_HERE}.look_command", "queries", "List the named queries."),
    "query": (f"{_HERE}.look_command", "query", "Run a named query."),
    "sql": (f"{_HERE}.look_command", "sql", "Run one SELECT of your own."),
    "rollup": (f"{_HERE}.keep_command", "rollup", "Compute the days that changed."),
    "timings": (f"{_HERE}.keep_command", "timings", "Write durations for gauntlet pipelines."),
    "last-built": (f"{_HERE}.keep_command", "last_built", "Write the commit built last."),
    "serve": (f"{_HERE}.serve_command", "serve", "Serve a folder to several processes."),
    "stop": (f"{_HERE}.serve_command", "stop", "End the server of a folder."),
    "synth": (f"{_HERE}.synth.command", "synth", "Fill a warehouse with a made-up history."),
}


class Commands(LazyGroup):
    """Every command of this package."""

    table = COMMANDS


@click.group(cls=Commands)
def warehouse() -> None:
    """The store of everything that happened: an embedded ClickHouse folder, or a server."""
