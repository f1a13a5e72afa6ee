"""What a search has learnt, one line a run, so that it can be continued after any end."""

import json
import os
from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from gauntlet.analyzer.culprits.model import ProbeOutcome, ProbeResult
from gauntlet.core.clock import utc_now
from gauntlet.core.errors import ConfigError, InfrastructureError, UsageError
from gauntlet.core.files import sync_folder
from gauntlet.core.ids import new_run_id
from gauntlet.core.json_file import parse_json_model
from gauntlet.core.scoped import Scoped
from gauntlet.core.yaml_file import StrictModel

VERSION: Literal[1] = 1


class Header(StrictModel):
    """The first line: what is searched. Another search may not continue it."""

    version: Literal[1] = VERSION
    good: str
    bad: str
    command: tuple[str, ...]
    incident: str = ""
    """Of an incident the ends of the range may move; its runs tell the same."""
    name: str = ""
    """Under which its runs are marked elsewhere; not part of what is searched."""


class Line(StrictModel):
    """One run."""

    stage: str
    sha: str
    outcome: ProbeOutcome
    seconds: float
    evidence: str = ""
    value: float | None = None
    at: datetime | None = None
    """When it ended; those of older journals do not say."""

    def result(self) -> ProbeResult:
        """The run, as a probe gave it."""
        return ProbeResult(
            sha=self.sha,
            outcome=self.outcome,
            seconds=self.seconds,
            evidence=self.evidence,
            value=self.value,
        )


class Journal(Scoped):
    """An append-only JSON Lines file; each run is on disk before the next one begins."""

    def __init__(self, path: Path, header: Header, *, restart: bool = False) -> None:
        """Open, or begin, a journal.

        Raises UsageError where the file is another search's, ConfigError where it is no journal,
        InfrastructureError where it cannot be written.
        """
        self.path = path
        self._known: dict[str, deque[Line]] = defaultdict(deque)
        self._counts: Counter[str] = Counter()
        self.continued = 0
        self.name = ""
        if path.exists() and not path.is_file():
            msg = f"the journal {path} is no regular file"
            raise UsageError(msg, hint="it is read again to continue a search: give a file")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if restart:
                path.unlink(missing_ok=True)
            raw = path.read_bytes() if path.exists() else b""
            whole = raw[: raw.rfind(b"\n") + 1]
            lines = whole.decode("utf-8", "replace").splitlines()
            if lines:
                self._read(lines, header)
            # A line that was cut by the end of a process is as if it had never been begun.
            self._stream = path.open("r+b" if path.exists() else "xb")
            self._stream.truncate(len(whole))
            self._stream.seek(len(whole))
            if not lines:
                self.name = new_run_id()
                self._write(header.model_copy(update={"name": self.name}))
                sync_folder(path.parent)
        except OSError as error:
            raise _unwritable(path, error) from error

    @property
    def runs(self) -> Mapping[str, int]:
        """How many runs are known of each commit, taken or not."""
        return self._counts

    @property
    def evidence(self) -> str:
        """Where its earlier runs can be looked at."""
        return "\n".join(line.evidence for lines in self._known.values() for line in lines)

    def close(self) -> None:
        """Close the file. Safe to call again."""
        self._stream.close()

    def take(self, sha: str) -> ProbeResult | None:
        """Return a run of a commit from before, each once; None where there is none (left)."""
        known = self._known[sha]
        return known.popleft().result() if known else None

    def add(self, stage: str, result: ProbeResult) -> None:
        """Keep a run. Raises InfrastructureError where the disk refuses."""
        try:
            self._write(
                Line(
                    stage=stage,
                    sha=result.sha,
                    outcome=result.outcome,
                    seconds=result.seconds,
                    evidence=result.evidence,
                    value=result.value,
                    at=utc_now(),
                )
            )
            self._counts[result.sha] += 1
        except OSError as error:
            raise _unwritable(self.path, error) from error

    def _write(self, line: StrictModel) -> None:
        text = json.dumps(line.model_dump(mode="json", exclude_none=True)) + "\n"
        self._stream.write(text.encode())
        self._stream.flush()
        os.fsync(self._stream.fileno())

    def _read(self, lines: list[str], header: Header) -> None:
        file = str(self.path)
        try:
            found = parse_json_model(lines[0], Header, file=file)
            runs = [parse_json_model(line, Line, file=file) for line in lines[1:]]
        except ConfigError as error:
            hint = "give --restart to begin anew, or another --journal"
            raise ConfigError(error.problems, hint=hint) from error
        self.name = found.name
        if found.model_copy(update={"name": header.name}) != header:
            differs = _differences(found.model_dump(), header.model_dump())
            msg = f"{self.path} is the journal of another search: {differs}"
            hint = "give the same command to continue it, --restart to forget it, or --journal FILE"
            raise UsageError(msg, hint=hint)
        for run in runs:
            self._known[run.sha].append(run)
            self._counts[run.sha] += 1
        self.continued = len(runs)


def runs_since(folder: Path, start: datetime) -> tuple[int, float]:
    """Count the runs of all journals below a folder that ended since ``start``, and their seconds.

    What cannot be read as a run does not count: whoever continues that journal is told.
    """
    runs, seconds = 0, 0.0
    for path in sorted(folder.rglob("*.jsonl")):
        for text in path.read_bytes().decode("utf-8", "replace").splitlines()[1:]:
            try:
                line = Line.model_validate_json(text)
            except ValidationError:
                continue
            if line.at is not None and line.at >= start:
                runs += 1
                seconds += line.seconds
    return runs, seconds


def _differences(there: Mapping[str, object], here: Mapping[str, object]) -> str:
    differing = [key for key in here if there[key] != here[key]]
    told = [key for key in differing if key != "name"]
    return "; ".join(f"{key} is {there[key]} there, {here[key]} here" for key in told)


def _unwritable(path: Path, error: OSError) -> InfrastructureError:
    msg = f"cannot write the journal {path}: {error.strerror or error}"
    return InfrastructureError(msg, hint="free some space, or give --journal FILE")
