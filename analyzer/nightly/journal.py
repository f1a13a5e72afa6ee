"""The folder of one night: which steps were done, with what result. A killed night goes on."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from gauntlet.core.errors import UsageError
from gauntlet.core.files import write_atomic
from gauntlet.core.json_file import json_text, load_json_model
from gauntlet.core.yaml_file import StrictModel
from gauntlet.warehouse.folder_lock import FolderInUseError, lock_folder

Status = Literal["done", "failed", "skipped"]

_WAIT_S = 1.0


class Done(StrictModel):
    """What came of one step."""

    status: Status
    at: datetime
    detail: str
    exit_code: int = 0


class State(StrictModel):
    """The state of a night, as it is kept."""

    schema_version: Literal[1] = 1
    night: date
    branch: str
    steps: dict[str, Done] = Field(default_factory=dict)
    board: dict[str, Any] = Field(default_factory=dict)
    """What hangs in the chat."""


@dataclass(slots=True)
class NightFolder:
    """The folder of a night. Every change is on disk before it is told."""

    folder: Path
    state: State

    def done(self, step: str) -> bool:
        """Whether a step needs no other try."""
        known = self.state.steps.get(step)
        return known is not None and known.status in ("done", "skipped")

    def note(self, step: str, done: Done) -> None:
        """Write down what came of a step. Raises InfrastructureError where the disk refuses."""
        steps = {**self.state.steps, step: done}
        self._write(self.state.model_copy(update={"steps": steps}))

    def hang(self, board: dict[str, Any]) -> None:
        """Write down what hangs in the chat."""
        self._write(self.state.model_copy(update={"board": board}))

    def forget(self) -> None:
        """Do every step again; what hangs in the chat stays known."""
        self._write(self.state.model_copy(update={"steps": {}}))

    def save(self, name: str, value: object) -> Path:
        """Keep an artifact as JSON."""
        return write_atomic(self.folder / name, json.dumps(value, indent=1, default=str) + "\n")

    def load(self, name: str) -> dict[str, Any]:
        """An artifact that was kept; empty where there is none."""
        path = self.folder / name
        if not path.exists():
            return {}
        value = json.loads(path.read_text(encoding="utf-8"))
        return value if isinstance(value, dict) else {}

    def _write(self, state: State) -> None:
        write_atomic(self.folder / "state.json", json_text(state), fsync=True)
        self.state = state


@contextmanager
def open_night(root: Path, night: date, branch: str) -> Iterator[NightFolder]:
    """Open the folder of a night, for this process alone.

    Raises UsageError where another process is at it or it is that of another branch, ConfigError
    for a state that cannot be read.
    """
    folder = root / night.isoformat()
    try:
        lock = lock_folder(folder, _WAIT_S)
    except FolderInUseError as error:
        msg = f"another process is at the night of {night}"
        raise UsageError(msg, hint=f"wait for it, or look at {folder}") from error
    with lock:
        path = folder / "state.json"
        state = load_json_model(path, State) if path.exists() else State(night=night, branch=branch)
        if state.branch != branch:
            msg = f"{folder} is the night of branch {state.branch}, not of {branch}"
            raise UsageError(msg, hint="give another --folder for another branch")
        yield NightFolder(folder, state)
