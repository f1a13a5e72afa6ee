"""Which job a report is of: said by a manifest, by options, or by the folder that it lies in."""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from uuid import UUID, uuid5

from pydantic import Field, ValidationError

from gauntlet.core.errors import ConfigError, Problem, UsageError
from gauntlet.core.yaml_file import StrictModel
from gauntlet.warehouse.reports.block import JobContext
from gauntlet.warehouse.reports.files import JobReports
from gauntlet.warehouse.rows.base import UtcTime

# Of jobs that nobody named: the same file is the same job.
_UNNAMED = UUID("6f6d1c7e-2f0b-5f0e-9d0c-0a7e1f3b5c42")


class _Entry(StrictModel):
    """One line of a manifest; ``files`` are relative to it."""

    job_id: UUID
    files: tuple[str, ...] = Field(min_length=1)
    repository: str = ""
    sha: str = ""
    branch: str = ""
    job_key: str = ""
    queue: str = ""
    started_at: UtcTime | None = None


def load_manifest(path: Path) -> list[JobReports]:
    """Read a manifest. Raises ConfigError with every line that is wrong."""
    jobs, problems = [], []
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        if not line.strip():
            continue
        try:
            entry = _Entry.model_validate_json(line)
        except ValidationError as error:
            problems += [
                Problem(
                    file=str(path),
                    line=number,
                    key=".".join(map(str, each["loc"])) or None,
                    message=each["msg"],
                )
                for each in error.errors()
            ]
            continue
        context = JobContext(**entry.model_dump(exclude={"files"}))
        files = tuple(path.parent / name for name in entry.files)
        jobs.append(JobReports(job=context, files=files))
    if problems:
        raise ConfigError(problems)
    if not jobs:
        raise UsageError(f"{path}: no job")
    return jobs


def jobs_of_files(
    files: Sequence[Path], given: Mapping[str, str | datetime | None]
) -> list[JobReports]:
    """Sort files by job. Raises UsageError for a ``job_id`` that is no UUID."""
    shared = {key: value for key, value in given.items() if key != "job_id"}
    by_job: dict[UUID, list[Path]] = {}
    for path in files:
        by_job.setdefault(_job_id(path, given.get("job_id")), []).append(path)
    return [
        JobReports(job=JobContext(job_id=job_id, **shared), files=tuple(found))  # type: ignore[arg-type]
        for job_id, found in by_job.items()
    ]


def _job_id(path: Path, given: str | datetime | None) -> UUID:
    if given:
        try:
            return UUID(str(given))
        except ValueError as error:
            hint = "Buildkite's BUILDKITE_JOB_ID is one"
            raise UsageError(f"--job-id {given}: no UUID", hint=hint) from error
    for folder in path.resolve().parents:
        try:
            return UUID(folder.name)
        except ValueError:
            continue
    with path.open("rb") as stream:
        return uuid5(_UNNAMED, hashlib.file_digest(stream, "sha256").hexdigest())
