"""What probes said, kept so that a killed bisect goes on and pays for none of them twice."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from gauntlet.core.files import write_atomic
from gauntlet.core.json_file import parse_json_model
from gauntlet.core.yaml_file import StrictModel, read_text


class ProbeRow(StrictModel):
    """One probe. ``key`` is the hash of its requirements, the test and the Python it ran with."""

    key: str
    new: tuple[str, ...]
    outcome: Literal["good", "bad", "skip"]
    status: int | None
    install_s: float
    test_s: float
    tail: str = ""


class Journal:
    """JSON lines in a file, written whole each time."""

    def __init__(self, path: Path) -> None:
        """Read what is there. Raises ConfigError for a file that is no journal."""
        self._path = path
        self.rows: list[ProbeRow] = []
        if path.exists():
            for number, line in enumerate(read_text(path).splitlines(), start=1):
                self.rows.append(parse_json_model(line, ProbeRow, file=f"{path}:{number}"))

    def find(self, key: str) -> ProbeRow | None:
        """The row of a probe that was made already."""
        return next((row for row in self.rows if row.key == key), None)

    def add(self, row: ProbeRow) -> None:
        """Keep a row for good."""
        self.rows.append(row)
        lines = (json.dumps(each.model_dump(mode="json")) for each in self.rows)
        write_atomic(self._path, "\n".join(lines) + "\n", fsync=True)


def probe_key(requirements: str, command: Sequence[str], python: str) -> str:
    """Identity of a probe: what is installed, what is run, with which Python."""
    said = json.dumps([requirements, list(command), python])
    return hashlib.sha256(said.encode()).hexdigest()
