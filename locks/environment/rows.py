"""What a job ran with, as rows: each package, the fingerprint of all, each difference."""

from collections.abc import Iterator
from datetime import datetime
from uuid import UUID

from gauntlet.locks.environment.drift import Drift
from gauntlet.locks.environment.installed import Installed
from gauntlet.warehouse.batch import Batch, content_id
from gauntlet.warehouse.rows.ci import EnvironmentRow


def environment_batch(installed: Installed, drift: Drift, *, job_id: UUID, at: datetime) -> Batch:
    """Make the rows of one job; the same job told twice is one."""
    rows = tuple(_rows(installed, drift, job_id, at))
    content = "\n".join(f"{row.kind} {row.name} {row.version}" for row in rows)
    name = content_id("environment", job_id.bytes, content.encode())
    return Batch.of(name, rows, source="environment", created_at=at)


def _rows(
    installed: Installed, drift: Drift, job_id: UUID, at: datetime
) -> Iterator[EnvironmentRow]:
    for each in installed.packages:
        yield EnvironmentRow(
            job_id=job_id, kind="package", name=each.name, version=each.version, at=at
        )
    yield EnvironmentRow(
        job_id=job_id, kind="fingerprint", name=drift.lock, version=installed.fingerprint(), at=at
    )
    for difference in drift.differences:
        yield EnvironmentRow(
            job_id=job_id,
            kind="drift",
            name=difference.name,
            version=f"{difference.kind}: {difference}",
            at=at,
        )
