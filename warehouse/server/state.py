"""The file by which others find the server of a folder; it holds the key, so it is private."""

import os
from pathlib import Path

from pydantic import AwareDatetime

from gauntlet import __version__
from gauntlet.core.clock import utc_now
from gauntlet.core.errors import ConfigError
from gauntlet.core.files import write_atomic
from gauntlet.core.json_file import json_text, load_json_model
from gauntlet.core.yaml_file import StrictModel
from gauntlet.warehouse.server.endpoint import Endpoint


# Another version of this program may have written it, with keys that we do not know.
class ServerState(StrictModel, extra="ignore"):
    """What a server says of itself."""

    pid: int
    port: int
    token: str
    folder: str
    version: str
    started_at: AwareDatetime

    @property
    def endpoint(self) -> Endpoint:
        """Where it listens, and the key to it."""
        return Endpoint(port=self.port, token=self.token)


def state_file(folder: Path) -> Path:
    """Where the server of a folder says where it listens."""
    return folder.with_name(f"{folder.name}.server.json")


def log_file(folder: Path) -> Path:
    """What the server of a folder wrote to its standard error."""
    return folder.with_name(f"{folder.name}.server.log")


def scratch_folder(folder: Path) -> Path:
    """Where the server of a folder keeps what is on its way; empty whenever none runs."""
    return folder.with_name(f"{folder.name}.server.tmp")


def own_state(folder: Path, endpoint: Endpoint) -> ServerState:
    """What this process says of itself."""
    return ServerState(
        pid=os.getpid(),
        port=endpoint.port,
        token=endpoint.token,
        folder=str(folder),
        version=__version__,
        started_at=utc_now(),
    )


def read_state(folder: Path) -> ServerState | None:
    """What the folder's last server said; None where there is nothing that can be read.

    The server may be long gone: ask it.
    """
    try:
        return load_json_model(state_file(folder), ServerState)
    except ConfigError:
        return None


def write_state(folder: Path, state: ServerState) -> None:
    """Say where the server is, to its own user only. Raises InfrastructureError."""
    write_atomic(state_file(folder), json_text(state), mode=0o600)


def remove_state(folder: Path, own: ServerState) -> None:
    """Take back what ``own`` says, unless another server has said something since."""
    if read_state(folder) == own:
        state_file(folder).unlink(missing_ok=True)
