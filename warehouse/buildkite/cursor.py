"""How far a pipeline is known, kept in a small file, and what the next round has to read.

All rounds keep this true of the builds that were created since the first round's start and before
``created_until``, outside the ``unread`` windows: each was read, and each that finished before
``known_until`` was read after it had finished.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal, Protocol

from gauntlet.core.errors import ConfigError, UsageError
from gauntlet.core.files import sole_holder, write_atomic
from gauntlet.core.json_file import json_text, load_json_model
from gauntlet.core.yaml_file import StrictModel
from gauntlet.warehouse.buildkite.api import Pipeline
from gauntlet.warehouse.rows.base import UtcTime

# Clocks differ, and a build may be listed a little after it was made: each round looks back.
OVERLAP = timedelta(minutes=15)
# A listing covers at most this much, so that a long outage is many small readings.
SLICE = timedelta(days=1)
# How far back the first round looks where nobody says since when.
FIRST_REACH = timedelta(days=7)


class Window(StrictModel):
    """Creation times from ``start`` up to, and without, ``end``."""

    start: UtcTime
    end: UtcTime


class OpenBuild(StrictModel):
    """A build that had not ended when it was last read."""

    number: int
    build_id: str
    created_at: UtcTime


class Cursor(StrictModel):
    """How far one pipeline is known."""

    schema_version: Literal[1] = 1
    organization: str
    pipeline: str
    created_until: UtcTime
    known_until: UtcTime
    unread: tuple[Window, ...] = ()
    open: tuple[OpenBuild, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What one round reads, and the ``cursor`` that it starts with.

    Windows of creation times, oldest first; then builds created before ``older_than`` that
    finished since ``finished_from`` or are at work; then the builds that were open. All of it is
    newer than ``begun``. ``detached`` rounds leave the pipeline's cursor as it is.
    """

    windows: tuple[Window, ...]
    older_than: datetime
    finished_from: datetime
    begun: datetime
    cursor: Cursor
    detached: bool


class CursorStore(Protocol):
    """Where cursors are kept."""

    def load(self, pipeline: Pipeline) -> Cursor | None:
        """Return the cursor of a pipeline, None before its first round."""

    def save(self, cursor: Cursor) -> None:
        """Keep a cursor in place of the pipeline's last one."""


class CursorFolder:
    """Cursors as files, one for each pipeline, whole or not there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, organization: str, slug: str) -> Path:
        """File of one pipeline. Raises UsageError for slugs that are none."""
        for name in (organization, slug):
            if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name):
                hint = "it is the part of the pipeline's address, such as my-org/my-pipeline"
                raise UsageError(f"{name!r} is no slug", hint=hint)
        return self._folder / f"buildkite-{organization}" / f"{slug}.json"

    def load(self, pipeline: Pipeline) -> Cursor | None:
        """Return the cursor of a pipeline, None before its first round.

        Raises ConfigError for a file that is no cursor: starting anew would hide a gap.
        """
        path = self.path(pipeline.organization, pipeline.slug)
        if not path.exists():
            return None
        try:
            return load_json_model(path, Cursor)
        except ConfigError as error:
            hint = f"repair {path}, or remove it and say --since"
            raise ConfigError(error.problems, hint=hint) from error

    def save(self, cursor: Cursor) -> None:
        """Keep a cursor; it survives a crash from the moment this returns."""
        write_atomic(self.path(cursor.organization, cursor.pipeline), json_text(cursor), fsync=True)

    @contextmanager
    def exclusive(self, pipeline: Pipeline) -> Iterator[None]:
        """Keep others from syncing the same pipeline. Raises InfrastructureError where one does."""
        path = self.path(pipeline.organization, pipeline.slug).with_suffix(".lock")
        with sole_holder(path, busy=f"another process is syncing {pipeline}"):
            yield


def plan_round(
    pipeline: Pipeline,
    cursor: Cursor | None,
    *,
    since: datetime | None,
    until: datetime | None,
    now: datetime,
) -> Round:
    """Plan one round of builds created up to ``until``, or up to now.

    ``since`` None goes on where the cursor is, or looks back FIRST_REACH where there is none. A
    round since a named instant is detached where moving the cursor would tear a gap: it starts
    after what is known, or ends before it. Raises UsageError for a window that is none.
    """
    end = until or now
    if end > now:
        raise UsageError(f"until {end.isoformat()}: that is in the future")
    if since is not None and since >= end:
        msg = f"since {since.isoformat()}: that does not lie before {end.isoformat()}"
        raise UsageError(msg, hint="say an instant such as 2026-11-02T10:00Z, or days such as 7d")
    start = since or (cursor.created_until - OVERLAP if cursor else end - FIRST_REACH)
    known_until = cursor.known_until if cursor else start
    fresh = (Window(start=start, end=end),) if start < end else ()
    detached = cursor is not None and since is not None and _tears(cursor, start, end)
    windows = slices((*(cursor.unread if cursor and not detached else ()), *fresh))
    return Round(
        windows=windows,
        older_than=start,
        finished_from=since or known_until - OVERLAP,
        begun=now,
        cursor=Cursor(
            organization=pipeline.organization,
            pipeline=pipeline.slug,
            created_until=max(end, cursor.created_until) if cursor else end,
            known_until=known_until,
            unread=windows,
            open=cursor.open if cursor and not detached else (),
        ),
        detached=detached,
    )


def _tears(cursor: Cursor, start: datetime, end: datetime) -> bool:
    starts_late = start > min(cursor.known_until, cursor.created_until)
    return starts_late or end < cursor.created_until - OVERLAP


def slices(windows: tuple[Window, ...], length: timedelta = SLICE) -> tuple[Window, ...]:
    """Join windows that overlap or touch, then cut them to a length; oldest first."""
    joined: list[Window] = []
    for window in sorted(windows, key=lambda found: found.start):
        if joined and window.start <= joined[-1].end:
            end = max(joined[-1].end, window.end)
            joined[-1] = joined[-1].model_copy(update={"end": end})
        else:
            joined.append(window)
    return tuple(piece for window in joined for piece in _cut(window, length))


def _cut(window: Window, length: timedelta) -> Iterator[Window]:
    start = window.start
    while start < window.end:
        end = min(start + length, window.end)
        yield Window(start=start, end=end)
        start = end
