"""Where the warehouse and its spool are, said once for every command."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import click

DEFAULT_LOCATION = ".gauntlet/warehouse"

CommandT = TypeVar("CommandT", bound=Callable[..., object])


def warehouse_option(function: CommandT) -> CommandT:
    """Add ``--warehouse`` (or GAUNTLET_WAREHOUSE) to a command."""
    return click.option(
        "--warehouse",
        "location",
        envvar="GAUNTLET_WAREHOUSE",
        default=DEFAULT_LOCATION,
        show_default=True,
        help="A folder (embedded ClickHouse) or the URL of a ClickHouse server.",
    )(function)


def spool_folder(location: str) -> Path:
    """Folder of the spool that belongs to a warehouse: beside a folder, local for a server."""
    if location.startswith(("http://", "https://")):
        # Each server has its own, or what waits for one would be shipped to another.
        parts = urlsplit(location)
        database = parts.path.strip("/") or "default"
        name = f"spool-{parts.hostname}-{parts.port or parts.scheme}-{database}"
        return Path(DEFAULT_LOCATION).parent / re.sub(r"[^\w.-]", "_", name)
    return Path(location).parent / f"{Path(location).name}-spool"


def folder_beside(location: str, what: str) -> Path:
    """Folder of what belongs to a warehouse and is not in it, beside its spool."""
    spool = spool_folder(location)
    return spool.with_name(f"{spool.name}-{what}")
