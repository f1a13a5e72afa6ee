"""What a result file does not say about itself: who measured what on what, told by the caller."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from gauntlet.core.errors import ExitCode, GauntletError
from gauntlet.core.ids import digest
from gauntlet.warehouse.rows.measurement import RepetitionRow, RepetitionStatus, series_of


class UnreadableResultError(GauntletError):
    """A file is none of the formats that are read, or is damaged."""

    exit_code = ExitCode.USAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Provenance that the caller adds. What nobody knows stays None; it is never guessed."""

    recipe: str
    workload: str | None = None
    run_id: str | None = None
    engine_kind: str = "vllm"
    engine_version: str | None = None
    engine_commit: str | None = None
    image_digest: str | None = None
    accelerator: str | None = None
    driver: str | None = None
    host: str = ""
    build_id: str | None = None
    seed: int | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What one result file says about the repetition that it is of.

    ``content`` is the digest of the file: the same file is the same repetition.
    """

    source: str
    content: str
    file: str
    kind: str
    workload: str
    point: str
    model: str
    client: str
    client_version: str
    started_at: datetime
    ended_at: datetime
    completed: int
    failed: int
    reasons: tuple[str, ...]
    settings: Mapping[str, str]


def repetition_of(found: Found, identity: Identity) -> RepetitionRow:
    """Make the repetition's row; a measurement with reasons against it is ``invalid``."""
    workload = identity.workload or found.workload
    settings = {**found.settings, **identity.settings}
    status: RepetitionStatus = "valid"
    if found.reasons:
        status = "failed" if found.completed == 0 else "invalid"
    config = {
        **settings,
        "client": found.client,
        "client_version": found.client_version,
        "model": found.model,
        "workload": workload,
        "point": found.point,
    }
    return RepetitionRow(
        run_id=identity.run_id or f"import/{found.content[:16]}",
        repetition_id=f"{found.source}/{found.content[:32]}/{workload}",
        series_id=series_of(
            recipe=identity.recipe,
            workload=f"{workload} {found.point}".strip(),
            model=found.model,
            accelerator=identity.accelerator,
        ),
        recipe=identity.recipe,
        point=found.point,
        source=found.source,
        side="single",
        workload=workload,
        kind="load" if found.kind == "load" else "eval",
        pair=0,
        position=0,
        status=status,
        reasons=found.reasons,
        config_fp=digest(config)[:16],
        engine_kind=identity.engine_kind,
        engine_version=identity.engine_version,
        engine_commit=identity.engine_commit,
        image_digest=identity.image_digest,
        model=found.model,
        host=identity.host,
        accelerator=identity.accelerator,
        driver=identity.driver,
        client=found.client,
        client_version=found.client_version,
        dataset_digest="",
        seed=identity.seed,
        started_at=found.started_at.astimezone(UTC),
        ended_at=found.ended_at.astimezone(UTC),
        completed=found.completed,
        failed=found.failed,
        settings=settings,
        artifact=found.file,
        artifact_digest=f"sha256:{found.content}",
        build_id=identity.build_id,
    )


def timeless(row: RepetitionRow) -> bytes:
    """What names a repetition beside its file: all but times, which may be those of the reading."""
    return row.model_dump_json(exclude={"started_at", "ended_at"}).encode()
