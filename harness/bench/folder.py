"""The artifact folder of a run: what was asked, what was done, and everything that was seen.

``run.json`` and each repetition's ``record.json`` are written at the start with the status
``running`` and again at the end, so that after a crash it is plain what is missing.
"""

import json
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gauntlet.core.clock import utc_now
from gauntlet.core.errors import ConfigError, Problem, UsageError
from gauntlet.core.files import write_atomic
from gauntlet.core.yaml_file import StrictModel

RUN = "run.json"
RECORD = "record.json"
_SLUG = re.compile(r"[^A-Za-z0-9._=-]+")


class RunRecord(StrictModel):
    """What identifies a run and lets it go on: the recipe as it was, the seed, the command."""

    run_id: str
    status: str
    recipe: str
    recipe_digest: str
    recipe_definition: str
    seed: int
    gauntlet_version: str
    started_at: str
    updated_at: str
    command: tuple[str, ...]
    version: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RunFolder:
    """One run's folder."""

    path: Path

    def create(self, record: RunRecord) -> None:
        """Begin a new run. Raises UsageError where one is there already."""
        if (self.path / RUN).exists():
            msg = f"there is a run in {self.path} already"
            raise UsageError(msg, hint="--resume continues it; or give another --out")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            msg = f"cannot make the folder {self.path}: {error.strerror}"
            raise UsageError(msg) from error
        self.write_run(record)

    def read_run(self) -> RunRecord:
        """The run that is there. Raises UsageError where none is, ConfigError for a broken one."""
        path = self.path / RUN
        if not path.exists():
            msg = f"there is no run to resume in {self.path}"
            raise UsageError(msg, hint="leave out --resume to begin one")
        try:
            return RunRecord.model_validate_json(path.read_bytes())
        except ValueError as error:
            message = "not the record of a run"
            raise ConfigError([Problem(file=str(path), message=message)]) from error

    def write_run(self, record: RunRecord) -> None:
        """Write the state of the run."""
        write_atomic(self.path / RUN, record.model_dump_json(indent=1), fsync=True)

    def repetition(self, step_key: str) -> Path:
        """Folder of one repetition; its name tells which."""
        return self.path / "repetitions" / _SLUG.sub("-", step_key).strip("-")

    def begin(self, step_key: str) -> Path:
        """Begin a repetition anew; what a broken one left behind is put away, not lost."""
        folder = self.repetition(step_key)
        if folder.exists():
            broken = folder.with_name(f"{folder.name}.broken-{utc_now():%Y%m%dT%H%M%S%f}")
            folder.rename(broken)
        folder.mkdir(parents=True)
        write_atomic(
            folder / RECORD, json.dumps({"status": "running", "key": step_key}), fsync=True
        )
        return folder

    def close(self, folder: Path, record: Mapping[str, Any]) -> None:
        """Write the final record of a repetition."""
        write_atomic(folder / RECORD, json.dumps(record, indent=1, default=str), fsync=True)

    def done(self, step_key: str) -> dict[str, Any] | None:
        """The record of a repetition that was closed, None where there is none."""
        path = self.repetition(step_key) / RECORD
        try:
            record = json.loads(path.read_bytes())
        except (FileNotFoundError, ValueError):
            return None
        return record if record.get("status") != "running" else None

    def note_commands(self, run: RunRecord, lines: Sequence[str]) -> Path:
        """Write ``reproduce.sh``: the very commands, with what they need said above."""
        recipe = write_atomic(self.path / "recipe.json", run.recipe_definition)
        head = [
            "#!/usr/bin/env bash",
            f"# Run {run.run_id} of {run.recipe}, with gauntlet {run.gauntlet_version}.",
            "# Seeds, prompts and arrival times are the same; the machine has to be.",
            "set -euo pipefail",
            'here="$(cd "$(dirname "$0")" && pwd)"',
        ]
        argv = [recipe.name if word == "@RECIPE@" else word for word in run.command]
        command = " ".join(
            '"$here/recipe.json"' if word == recipe.name else shlex.quote(word) for word in argv
        )
        body = [*head, "", *lines, "", f'{command} --out "${{1:?where to: give a new folder}}"']
        return write_atomic(self.path / "reproduce.sh", "\n".join(body) + "\n", mode=0o755)

    def room(self) -> int:
        """Free bytes on the disk that the folder lies on."""
        return shutil.disk_usage(self.path).free
