"""What a decision leaves on disk: the selection for readers, the parameters for a replay."""

import json
from pathlib import Path
from typing import Any, Literal

from gauntlet import __version__
from gauntlet.core.errors import ConfigError, Problem
from gauntlet.core.yaml_file import StrictModel, YamlDocument, read_text, validate_model
from gauntlet.pipelines.changes import ChangedFile
from gauntlet.pipelines.definitions.files import DefinitionFile, DefinitionFiles
from gauntlet.pipelines.selection import Decision, Selection

SCHEMA_VERSION = 1
PIPELINE = "pipeline.yaml"
SELECTION = "selection.json"
PARAMETERS = "parameters.json"


class Engine(StrictModel):
    """The engine whose definitions were read; the version is None for a folder on disk."""

    name: str
    version: str | None = None


class RecordedFile(StrictModel):
    """A definition file with its content and the hash of its bytes."""

    path: str
    sha256: str
    text: str


class RecordedChange(StrictModel):
    """One changed file."""

    status: str
    path: str
    old_path: str | None = None


class Parameters(StrictModel):
    """Everything that a decision was made from."""

    schema_version: Literal[1]
    gauntlet_version: str
    engine: Engine
    config: RecordedFile
    job_files: tuple[RecordedFile, ...]
    changes: tuple[RecordedChange, ...]
    nightly: bool
    fleet: str

    def files(self) -> DefinitionFiles:
        """The definition files as they were read."""
        return DefinitionFiles(
            config=DefinitionFile(path=self.config.path, text=self.config.text),
            jobs=tuple(DefinitionFile(path=f.path, text=f.text) for f in self.job_files),
        )

    def changed_files(self) -> tuple[ChangedFile, ...]:
        """The changes as they were read."""
        return tuple(
            ChangedFile(path=change.path, status=change.status, old_path=change.old_path)
            for change in self.changes
        )


def decision_record(decision: Decision) -> dict[str, Any]:
    """One decision as plain data."""
    return {
        "key": decision.key,
        "label": decision.label,
        "group": decision.group,
        "decision": decision.decision,
        "rule": decision.rule,
        "evidence": decision.evidence,
        "path": list(decision.path),
        "reasons": [
            {
                "rule": reason.rule,
                "evidence": reason.evidence,
                "path": list(reason.path),
                "text": reason.text,
            }
            for reason in decision.reasons
        ],
    }


def selection_record(selection: Selection) -> dict[str, Any]:
    """A selection as plain data: the keys that run, every job's decision, docs_only."""
    return {
        "selected": list(selection.selected),
        "jobs": [decision_record(decision) for decision in selection.decisions],
        "docs_only": selection.docs_only,
    }


def selection_json(selection: Selection, groups: int) -> str:
    """Text of selection.json: sorted, the same bytes for the same decision."""
    counts = {
        "jobs": len(selection.decisions),
        "selected": len(selection.selected),
        "groups": groups,
    }
    record = {"schema_version": SCHEMA_VERSION, "counts": counts, **selection_record(selection)}
    return _dump(record)


def parameters_json(
    *,
    engine: Engine,
    files: DefinitionFiles,
    changes: tuple[ChangedFile, ...],
    nightly: bool,
    fleet: str,
) -> str:
    """Text of parameters.json."""
    record = {
        "schema_version": SCHEMA_VERSION,
        "gauntlet_version": __version__,
        "engine": engine.model_dump(),
        "config": _recorded(files.config),
        "job_files": [_recorded(file) for file in files.jobs],
        "changes": [
            {"status": change.status, "path": change.path, "old_path": change.old_path}
            for change in changes
        ],
        "nightly": nightly,
        "fleet": fleet,
    }
    return _dump(record)


def load_parameters(path: Path) -> Parameters:
    """Read parameters.json. Raises ConfigError where it is no such file or was altered."""
    try:
        value = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        problem = Problem(file=str(path), line=error.lineno, message=f"JSON: {error.msg}")
        raise ConfigError([problem]) from error
    parameters = validate_model(YamlDocument(str(path), value, {}), Parameters)
    problems = [
        Problem(file=str(path), key=file.path, message="the text does not match its sha256")
        for file in (parameters.config, *parameters.job_files)
        if DefinitionFile(path=file.path, text=file.text).sha256 != file.sha256
    ]
    if problems:
        raise ConfigError(problems, hint="the file was altered after it was written")
    return parameters


def _recorded(file: DefinitionFile) -> dict[str, str]:
    return {"path": file.path, "sha256": file.sha256, "text": file.text}


def _dump(record: dict[str, Any]) -> str:
    # ASCII escapes also carry bytes that are not UTF-8, as lone surrogates.
    return json.dumps(record, indent=1, ensure_ascii=True) + "\n"
