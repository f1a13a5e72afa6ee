"""What a log gave, as a batch."""

from datetime import datetime
from uuid import UUID

from gauntlet.core.errors import UsageError
from gauntlet.warehouse.batch import Batch, content_id
from gauntlet.warehouse.reports.log import LogScan


def log_batch(found: LogScan, now: datetime) -> Batch:
    """Make the batch; the same log of the same job is the same batch."""
    name = content_id("log", found.log.job_id.bytes, found.log.sha256.encode())
    return Batch.of(name, [*found.spans, found.log], source="log", created_at=now)


def uuid_of(text: str, option: str) -> UUID:
    """Read a UUID. Raises UsageError that names the option."""
    try:
        return UUID(text)
    except ValueError as error:
        raise UsageError(f"{option} {text}: no UUID") from error
