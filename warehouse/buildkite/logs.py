"""Logs of attempts that failed, from Buildkite, so that somebody can say why."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID

from gauntlet.core.errors import GauntletError
from gauntlet.warehouse.batch import Batch
from gauntlet.warehouse.buildkite.api import Pipeline
from gauntlet.warehouse.reports.log import keep_log
from gauntlet.warehouse.reports.log_batch import log_batch

_LOGGER = logging.getLogger(__name__)
# So many refusals in a row are the service's, not a log's.
_MOST_REFUSED = 5


class LogApi(Protocol):
    """Where logs are."""

    def log(self, pipeline: Pipeline, number: int, job_id: str) -> str | None:
        """The log of one attempt; None where there is none (any more).

        Raises ExternalServiceError and UsageError as the rest of the API does.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One attempt whose log is not there yet."""

    job_id: UUID
    build_id: UUID
    number: int

    @classmethod
    def of(cls, row: dict[str, Any]) -> "Wanted":
        """Read a row of ``unread_logs``."""
        return cls(job_id=row["job_id"], build_id=row["build_id"], number=int(row["build_number"]))


@dataclass(slots=True)
class Fetched:
    """What came of it; ``refused`` are reasons, by attempt."""

    logs: int = 0
    gone: int = 0
    refused: list[str] = field(default_factory=list)


def fetch_logs(
    api: LogApi,
    pipeline: Pipeline,
    wanted: Iterable[Wanted],
    folder: Path,
    keep: Callable[[Batch], None],
    now: datetime,
) -> Fetched:
    """Fetch logs one by one, keep each in a folder and hand in its row at once.

    A log that cannot be had does not keep the others back; after five refusals in a row the rest
    is left for the next time. Raises InfrastructureError where the disk refuses.
    """
    done = Fetched()
    in_a_row = 0
    version = int(now.timestamp() * 1000)
    for each in wanted:
        try:
            text = api.log(pipeline, each.number, str(each.job_id))
        except GauntletError as error:
            done.refused.append(f"{each.job_id}: {error.message}")
            in_a_row += 1
            if in_a_row >= _MOST_REFUSED:
                _LOGGER.warning("%d logs in a row could not be read; the rest waits", in_a_row)
                break
            continue
        in_a_row = 0
        if text is None:
            done.gone += 1
            continue
        scan = keep_log(
            [text.encode(errors="replace")],
            folder,
            job_id=each.job_id,
            build_id=each.build_id,
            version=version,
            now=now,
        )
        keep(log_batch(scan, now))
        done.logs += 1
    return done
