"""What a decision leaves on disk: the selection for readers, the parameters for a replay."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from pydantic import field_validator

from gauntlet import __version__
from gauntlet.core.errors import ConfigError, Problem
from gauntlet.core.json_file import load_json_model
from gauntlet.core.yaml_file import StrictModel
from gauntlet.pipelines.changes import ChangedFile, ChangeSet
from gauntlet.pipelines.decisions import Decision, Mode, Options, Selection
from gauntlet.pipelines.definitions.config import DefinitionFile
from gauntlet.pipelines.definitions.files import DefinitionFiles
from gauntlet.pipelines.definitions.job import TIERS, Tier
from gauntlet.pipelines.differences import Comparison
from gauntlet.pipelines.locked import LockChange, LockedInstall

SCHEMA_VERSION = 1
PIPELINE = "pipeline.yaml"
SELECTION = "selection.json"
PARAMETERS = "parameters.json"
ANNOTATION = "annotation.md"


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


class RecordedInstall(StrictModel):
    """Jobs that install the same of a lock; ``package`` is empty where nothing of it changed."""

    jobs: tuple[str, ...]
    package: str
    versions: str
    way: tuple[str, ...]


class RecordedLock(StrictModel):
    """What changed in a lock file; ``trouble`` says why it is a file like any other."""

    path: str
    record: str
    trouble: str
    installs: tuple[RecordedInstall, ...]

    def restored(self) -> LockChange:
        """The change as it was read."""
        return LockChange(
            path=self.path,
            record=self.record,
            trouble=self.trouble,
            installs=tuple(LockedInstall(**dict(install)) for install in self.installs),
        )


class RecordedChanges(StrictModel):
    """What changed, and between which commits; ``unknown`` says why that is not known.

    ``locks`` is left out where no lock file changed.
    """

    base: str | None
    head: str | None
    unknown: str | None
    files: tuple[RecordedChange, ...]
    locks: tuple[RecordedLock, ...] = ()


class RecordedOptions(StrictModel):
    """What the build asked for."""

    mode: Mode
    tier: str
    labels: tuple[str, ...]
    keys: tuple[str, ...]
    run_all: bool
    hardware: str | None

    @field_validator("tier")
    @classmethod
    def _tier_is_known(cls, value: str) -> str:
        if value not in TIERS:
            message = f"one of {', '.join(TIERS)}"
            raise ValueError(message)
        return value


class Parameters(StrictModel):
    """Everything that a decision was made from."""

    schema_version: Literal[1]
    gauntlet_version: str
    engine: Engine
    config: RecordedFile
    job_files: tuple[RecordedFile, ...]
    other_configs: tuple[RecordedFile, ...]
    changes: RecordedChanges
    options: RecordedOptions
    fleet: str
    images: dict[str, str]
    shard_plans: tuple[str, ...]

    def files(self) -> DefinitionFiles:
        """The definition files as they were read."""
        return DefinitionFiles(
            config=_restored(self.config),
            jobs=tuple(map(_restored, self.job_files)),
            others=tuple(map(_restored, self.other_configs)),
        )

    def change_set(self) -> ChangeSet:
        """The changes as they were read."""
        recorded = self.changes
        files = tuple(
            ChangedFile(path=change.path, status=change.status, old_path=change.old_path)
            for change in recorded.files
        )
        return ChangeSet(
            files=files,
            base=recorded.base,
            head=recorded.head,
            unknown=recorded.unknown,
            locks=tuple(lock.restored() for lock in recorded.locks),
        )

    def selection_options(self) -> Options:
        """The options as they were given."""
        given = self.options
        return Options(
            mode=given.mode,
            tier=Tier[given.tier.upper()],
            labels=given.labels,
            keys=given.keys,
            run_all=given.run_all,
            hardware=given.hardware,
        )


def _restored(file: RecordedFile) -> DefinitionFile:
    return DefinitionFile(path=file.path, text=file.text)


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
        "blocked": list(selection.blocked),
        "jobs": [decision_record(decision) for decision in selection.decisions],
        "docs_only": selection.docs_only,
    }


def difference_records(compared: Comparison) -> list[dict[str, Any]]:
    """Differences from vLLM's own rule as plain data."""
    return [
        {
            "key": difference.key,
            "change": "added" if difference.added else "dropped",
            "kind": difference.kind,
            "text": difference.text,
        }
        for difference in compared.differences
    ]


def selection_json(selection: Selection, groups: int) -> str:
    """Text of selection.json: sorted, the same bytes for the same decision."""
    counts = {
        "jobs": len(selection.decisions),
        "selected": len(selection.selected),
        "blocked": len(selection.blocked),
        "groups": groups,
    }
    record = {"schema_version": SCHEMA_VERSION, "counts": counts, **selection_record(selection)}
    return _dump(record)


def parameters_json(
    *,
    engine: Engine,
    files: DefinitionFiles,
    changes: ChangeSet,
    options: Options,
    fleet: str,
    images: Mapping[str, str],
    shard_plans: tuple[str, ...],
) -> str:
    """Text of parameters.json."""
    record = {
        "schema_version": SCHEMA_VERSION,
        "gauntlet_version": __version__,
        "engine": engine.model_dump(),
        "config": _recorded(files.config),
        "job_files": [_recorded(file) for file in files.jobs],
        "other_configs": [_recorded(file) for file in files.others],
        "changes": {
            "base": changes.base,
            "head": changes.head,
            "unknown": changes.unknown,
            "files": [
                {"status": change.status, "path": change.path, "old_path": change.old_path}
                for change in changes.files
            ],
            **_recorded_locks(changes),
        },
        "options": {
            "mode": options.mode,
            "tier": options.tier.title,
            "labels": sorted(set(options.labels)),
            "keys": sorted(set(options.keys)),
            "run_all": options.run_all,
            "hardware": options.hardware,
        },
        "fleet": fleet,
        "images": dict(sorted(images.items())),
        "shard_plans": list(shard_plans),
    }
    return _dump(record)


def load_parameters(path: Path) -> Parameters:
    """Read parameters.json. Raises ConfigError where it is no such file or was altered."""
    parameters = load_json_model(path, Parameters)
    problems = [
        Problem(file=str(path), key=file.path, message="the text does not match its sha256")
        for file in (parameters.config, *parameters.job_files, *parameters.other_configs)
        if _restored(file).sha256 != file.sha256
    ]
    if problems:
        raise ConfigError(problems, hint="the file was altered after it was written")
    return parameters


def _recorded_locks(changes: ChangeSet) -> dict[str, Any]:
    return {"locks": [asdict(lock) for lock in changes.locks]} if changes.locks else {}


def _recorded(file: DefinitionFile) -> dict[str, str]:
    return {"path": file.path, "sha256": file.sha256, "text": file.text}


def _dump(record: dict[str, Any]) -> str:
    # ASCII escapes also carry bytes that are not UTF-8, as lone surrogates.
    return json.dumps(record, indent=1, ensure_ascii=True) + "\n"
