"""``gauntlet warehouse serve``: one store for several processes of this machine."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gauntlet.core.errors import UsageError
from gauntlet.warehouse.location import warehouse_option

if TYPE_CHECKING:
    from gauntlet.warehouse.server.endpoint import Endpoint

_SECONDS = click.FloatRange(min=0)


@click.command()
@click.option("--port", default=0, show_default="any free one", type=click.IntRange(0, 65_535))
@click.option(
    "--idle-s",
    default=300.0,
    show_default=True,
    type=_SECONDS,
    help="End after so long without a request.",
)
@click.option(
    "--wait-s",
    default=15.0,
    show_default=True,
    type=_SECONDS,
    help="Wait so long for another process that has the folder.",
)
@warehouse_option
def serve(port: int, idle_s: float, wait_s: float, location: str) -> None:
    """Serve a folder over ClickHouse's HTTP protocol, so that several processes share it.

    Listens on this machine alone; its address and key are in FOLDER.server.json, which only its
    user can read. SIGTERM and SIGINT end it with status 0.
    """
    from gauntlet.warehouse.server.process import serve as run
    from gauntlet.warehouse.server.state import state_file

    if location.startswith(("http://", "https://")):
        raise UsageError(f"--warehouse {location} is a server already", hint="name a folder")
    folder = Path(location).resolve()

    def announce(endpoint: "Endpoint") -> None:
        click.echo(f"{endpoint.url} serves {folder}; its key is in {state_file(folder)}", err=True)

    run(folder, port=port, idle_s=idle_s, wait_s=wait_s, announce=announce)


@click.command()
@click.option("--wait-s", default=15.0, show_default=True, type=_SECONDS, help="Wait so long.")
@warehouse_option
def stop(wait_s: float, location: str) -> None:
    """End the server of a folder, if there is one; running statements get a few seconds."""
    import os
    import signal

    from gauntlet.warehouse.folder_lock import lock_folder
    from gauntlet.warehouse.server.launch import find
    from gauntlet.warehouse.server.state import read_state

    folder = Path(location).resolve()
    state = read_state(folder) if find(folder) else None
    if state is None:
        click.echo(f"no server serves {folder}", err=True)
        return
    os.kill(state.pid, signal.SIGTERM)
    # It holds the folder's lock until it has closed the store.
    lock_folder(folder, wait_s).close()
    click.echo(f"the server of {folder} has ended", err=True)
