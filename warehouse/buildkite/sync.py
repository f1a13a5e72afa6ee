"""Builds and jobs of a pipeline into the spool, resumed where the last round stopped.

The cursor moves when a page is safe in the spool, never before. What a killed round leaves is
read by the next one; rows that come twice are the same versions, and so harmless.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta

from gauntlet.warehouse.batch import Batch, content_id
from gauntlet.warehouse.buildkite.api import BuildkiteApi, BuildPage, BuildQuery, Pipeline
from gauntlet.warehouse.buildkite.cursor import (
    Cursor,
    CursorStore,
    OpenBuild,
    Round,
    Window,
    plan_round,
)
from gauntlet.warehouse.buildkite.mapping import (
    SeenBuild,
    Source,
    build_number,
    created_at,
    map_builds,
)
from gauntlet.warehouse.rows.base import Row
from gauntlet.warehouse.rows.ingest import RejectedRow

Sink = Callable[[Batch], None]

SOURCE = "buildkite"
# What Buildkite calls a build at work; a retried job brings a finished build back to these.
AT_WORK = ("creating", "scheduled", "running", "failing", "canceling")
_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncRequest:
    """Which builds to read; ``since`` None goes on where the last round stopped."""

    pipeline: Pipeline
    since: datetime | None = None
    until: datetime | None = None


@dataclass(slots=True, kw_only=True)
class SyncReport:
    """What a round read and stored; builds that were read twice count twice."""

    pipeline: str
    since: datetime
    known_until: datetime
    detached: bool
    pages: int = 0
    builds: int = 0
    jobs: int = 0
    idle_jobs: int = 0
    rejected: int = 0
    batches: int = 0
    open_builds: int = 0
    gone_builds: int = 0

    def as_dict(self) -> dict[str, object]:
        """Return plain data, times as text."""
        return asdict(self) | {
            "since": self.since.isoformat(),
            "known_until": self.known_until.isoformat(),
        }


def sync(
    request: SyncRequest,
    api: BuildkiteApi,
    sink: Sink,
    cursors: CursorStore,
    now: Callable[[], datetime],
) -> SyncReport:
    """Read what is new since the last round, one page at a time, and put it into the sink.

    Raises what the port, the sink and the cursor store raise; the next round then goes on.
    """
    plan = plan_round(
        request.pipeline,
        cursors.load(request.pipeline),
        since=request.since,
        until=request.until,
        now=now(),
    )
    return _Sync(request.pipeline, api, sink, cursors, now, plan).run()


def batch_of(rows: Sequence[Row], now: datetime) -> Batch:
    """Make a batch whose id says what is in it: the same rows make the same batch.

    When something was rejected does not count, so that it is not new each time it is read.
    """
    parts = [
        row.model_dump_json(exclude={"at"} if isinstance(row, RejectedRow) else None).encode()
        for row in rows
    ]
    return Batch.of(content_id(SOURCE, *parts), rows, source=SOURCE, created_at=now)


@dataclass(slots=True)
class _Sync:
    """One round on its way: what is unread and open changes with every page."""

    pipeline: Pipeline
    api: BuildkiteApi
    sink: Sink
    cursors: CursorStore
    now: Callable[[], datetime]
    plan: Round
    cursor: Cursor = field(init=False)
    report: SyncReport = field(init=False)
    _was_open: dict[int, OpenBuild] = field(init=False)
    _open: dict[int, OpenBuild] = field(init=False)

    def __post_init__(self) -> None:
        self.cursor = self.plan.cursor
        self._open = {build.number: build for build in self.cursor.open}
        self._was_open = dict(self._open)
        self.report = SyncReport(
            pipeline=str(self.pipeline),
            since=min((window.start for window in self.plan.windows), default=self.plan.older_than),
            known_until=self.cursor.known_until,
            detached=self.plan.detached,
        )

    def run(self) -> SyncReport:
        """Read windows, then older builds that moved, then what was open and was not seen."""
        self._save()
        for window in self.plan.windows:
            query = BuildQuery(created_from=window.start, created_to=window.end)
            for page, unread_to in pages_from_newest(self.api, self.pipeline, query):
                self._keep(page.builds, page.address)
                self._shrink(window, unread_to)
        older = BuildQuery(created_to=self.plan.older_than)
        for query in (
            replace(older, finished_from=self.plan.finished_from),
            replace(older, states=AT_WORK),
        ):
            for page, _ in pages_from_newest(self.api, self.pipeline, query):
                self._keep(page.builds, page.address)
                self._save()
        for number in sorted(self._was_open):
            self._look_again(number)
        self.cursor = self.cursor.model_copy(
            update={"known_until": max(self.plan.begun, self.cursor.known_until)}
        )
        self._save()
        self.report.known_until = self.cursor.known_until
        self.report.open_builds = len(self._open)
        return self.report

    def _look_again(self, number: int) -> None:
        if (build := self.api.build(self.pipeline, number)) is None:
            self._open.pop(number, None)
            self.report.gone_builds += 1
        else:
            self._keep((build,), f"build {number}")
        self._save()

    def _keep(self, builds: tuple[object, ...], address: str) -> None:
        """Bring one page into the sink, and remember which of its builds are open."""
        now = self.now()
        source = Source(address=address, pipeline=self.pipeline.slug, whole=True)
        mapped = map_builds(builds, source=source, now=now)
        if mapped.rows:
            self.sink(batch_of(mapped.rows, now))
            self.report.batches += 1
        self.report.pages += 1
        self.report.builds += len(mapped.builds)
        self.report.jobs += len(mapped.jobs)
        self.report.idle_jobs += mapped.idle_jobs
        self.report.rejected += len(mapped.rejected)
        for build in mapped.seen:
            self._remember(build)

    def _remember(self, build: SeenBuild) -> None:
        self._was_open.pop(build.number, None)
        if build.is_open:
            self._open[build.number] = OpenBuild(
                number=build.number, build_id=build.build_id, created_at=build.created_at
            )
        else:
            self._open.pop(build.number, None)

    def _shrink(self, window: Window, unread_to: datetime | None) -> None:
        """Take what was read off the unread windows; ``unread_to`` None leaves nothing of it."""
        left = []
        for found in self.cursor.unread:
            if found.start != window.start:
                left.append(found)
            elif unread_to is not None and found.start < unread_to:
                left.append(Window(start=found.start, end=min(found.end, unread_to)))
        self.cursor = self.cursor.model_copy(update={"unread": tuple(left)})
        self._save()

    def _save(self) -> None:
        if self.plan.detached:
            return
        still_open = tuple(build for _, build in sorted(self._open.items()))
        self.cursor = self.cursor.model_copy(update={"open": still_open})
        self.cursors.save(self.cursor)


def pages_from_newest(
    api: BuildkiteApi, pipeline: Pipeline, query: BuildQuery
) -> Iterator[tuple[BuildPage, datetime | None]]:
    """Page through a listing whose builds come and go meanwhile, without missing any.

    Pages by position shift: a build that leaves a listing, because it finished or was deleted,
    moves another from a page still to come to one that was read. So every page is the first one
    of a new listing that ends a little after the oldest build seen. Only where a whole page of
    builds is as old as that is the next page taken by position.

    With each page comes the creation time up to which builds are still unread, None at the end.
    Builds that two pages share are given once.
    """
    known: set[int] = set()
    while True:
        for page in api.builds(pipeline, query):
            end = _end_after(page, query)
            fresh = tuple(b for b in page.builds if build_number(b) not in known)
            yield replace(page, builds=fresh), None if page.is_last else end or query.created_to
            if page.is_last:
                return
            numbers = {n for build in page.builds if (n := build_number(build)) is not None}
            known = numbers if end else known | numbers
            if end:
                query = replace(query, created_to=end)
                break
        else:
            return


def _end_after(page: BuildPage, query: BuildQuery) -> datetime | None:
    """Where the next listing ends: at least a second after the oldest build, on a whole second.

    Whole, because a fraction might be cut off. None where that would not get on.
    """
    times = [found for build in page.builds if (found := created_at(build)) is not None]
    if not times:
        return None
    end = min(times).replace(microsecond=0) + 2 * _SECOND
    return end if query.created_to is None or end < query.created_to else None
