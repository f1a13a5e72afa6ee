"""Buildkite's payloads as rows. Pure: the same payload gives the same rows.

Times that cannot be (a finish before its start, a date in the future) refuse the row that they
are in, and that row alone. Jobs that run nothing (waiters, block steps) are no attempts: they
are counted and not stored.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from pydantic import ValidationError

from gauntlet.warehouse.buildkite.payloads import (
    BuildIdentity,
    BuildPayload,
    JobKind,
    JobPayload,
    Payload,
)
from gauntlet.warehouse.buildkite.rejections import Place, Problem, problems, rejected
from gauntlet.warehouse.buildkite.values import (
    BUILD_TIMES,
    JOB_TIMES,
    build_values,
    instant_of,
    job_values,
)
from gauntlet.warehouse.rows.base import Row, implausible_instant
from gauntlet.warehouse.rows.ci import BuildRow, JobAttemptRow
from gauntlet.warehouse.rows.ingest import RejectedRow

# Jobs at these are at work; a build that has one is not over, whatever it says itself.
_BUSY = frozenset({"assigned", "accepted", "running", "canceling", "timing_out"})
_AT_REST = frozenset({"passed", "failed", "blocked", "canceled", "skipped", "not_run"})

PayloadT = TypeVar("PayloadT", bound=Payload)
RowT = TypeVar("RowT", bound=Row)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where payloads come from.

    ``address`` is shown where a payload has none of its own; ``pipeline`` names the pipeline of
    a build that does not. ``whole`` says that builds come with all of their jobs.
    """

    address: str
    pipeline: str | None
    whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenBuild:
    """What is remembered of a build: ``is_open`` where it can still change by itself."""

    number: int
    build_id: str
    created_at: datetime
    is_open: bool


@dataclass(slots=True, kw_only=True)
class Mapped:
    """Rows of some payloads; ``idle_jobs`` are those that run nothing."""

    builds: list[BuildRow] = field(default_factory=list)
    jobs: list[JobAttemptRow] = field(default_factory=list)
    rejected: list[RejectedRow] = field(default_factory=list)
    seen: list[SeenBuild] = field(default_factory=list)
    idle_jobs: int = 0

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, in a fixed order."""
        return (*self.rejected, *self.jobs, *self.builds)


def map_builds(payloads: Sequence[object], *, source: Source, now: datetime) -> Mapped:
    """Map builds with their jobs, as REST lists them."""
    mapped = Mapped()
    for index, payload in enumerate(payloads):
        place = _place_of(payload, f"builds[{index}]", source)
        jobs = _jobs_of(payload)
        _Mapper(mapped, source, now).build(payload, jobs, place)
    return mapped


def map_event(event: Mapping[str, object], *, source: Source, now: datetime) -> Mapped:
    """Map a webhook's event about a build, or about a job and its build."""
    mapped = Mapped()
    mapper = _Mapper(mapped, source, now)
    build = event.get("build")
    if isinstance(build, Mapping) and "pipeline" not in build:
        build = {**build, "pipeline": event.get("pipeline")}
    jobs = [(_job_path(event["job"]), event["job"])] if "job" in event else []
    mapper.build(build, jobs, _place_of(build, "build", source))
    return mapped


def build_number(payload: object) -> int | None:
    """Number of a build, None where the payload has none."""
    number = payload.get("number") if isinstance(payload, Mapping) else None
    return number if isinstance(number, int) else None


def created_at(payload: object) -> datetime | None:
    """Creation time of a build, None where the payload has no readable one."""
    return instant_of(payload, "created_at")


@dataclass(frozen=True, slots=True)
class _Mapper:
    """Adds the rows of one payload after the other to what is mapped."""

    mapped: Mapped
    source: Source
    now: datetime

    def build(
        self,
        payload: object,
        jobs: Sequence[tuple[str, object]],
        place: Place,
    ) -> None:
        """Map a build and its jobs; jobs need no more of it than its identity."""
        identity = _validated(BuildIdentity, payload)
        if isinstance(identity, list):
            lost = Problem(field="jobs", message=f"not stored either: {len(jobs)}")
            self._reject(payload, [*identity, *([lost] if jobs else [])], "builds", place)
            return
        full = _validated(BuildPayload, payload)
        own = identity.pipeline.slug if identity.pipeline else None
        pipeline = own or self.source.pipeline
        if pipeline is None:
            problem = Problem(field="pipeline.slug", message="it is missing")
            self._reject(payload, [problem], "builds", place)
            return
        for path, job in jobs:
            self._job(job, identity, pipeline, place.within(path))
        if isinstance(full, list):
            self._reject(payload, full, "builds", place)
            return
        self._keep_build(full, [job for _, job in jobs], pipeline, payload, place)

    def _keep_build(
        self,
        build: BuildPayload,
        jobs: Sequence[object],
        pipeline: str,
        payload: object,
        place: Place,
    ) -> None:
        values = build_values(build, jobs, pipeline, whole=self.source.whole)
        row = self._plausible(BuildRow, values, BUILD_TIMES)
        if isinstance(row, BuildRow):
            self.mapped.builds.append(row)
        else:
            self._reject(payload, row, "builds", place)
        self.mapped.seen.append(
            SeenBuild(
                number=build.number,
                build_id=str(build.id),
                created_at=build.created_at,
                is_open=_is_open(build, jobs),
            )
        )

    def _job(self, payload: object, build: BuildIdentity, pipeline: str, place: Place) -> None:
        kind = _validated(JobKind, payload)
        if isinstance(kind, list):
            self._reject(payload, kind, "job_attempts", place)
            return
        if not kind.runs:
            self.mapped.idle_jobs += 1
            return
        job = _validated(JobPayload, payload)
        if isinstance(job, list):
            self._reject(payload, job, "job_attempts", place)
            return
        values = job_values(job, kind, build, pipeline, whole=self.source.whole)
        row = self._plausible(JobAttemptRow, values, JOB_TIMES)
        if isinstance(row, JobAttemptRow):
            self.mapped.jobs.append(row)
        else:
            self._reject(payload, row, "job_attempts", place)

    def _plausible(
        self, model: type[RowT], values: Mapping[str, object], times: Iterable[str]
    ) -> RowT | list[Problem]:
        found = list(_impossible_times(values, times, self.now))
        if found:
            return found
        try:
            return model.model_validate(values)
        except ValidationError as error:
            return problems(error)

    def _reject(self, payload: object, found: Iterable[Problem], target: str, place: Place) -> None:
        row = rejected(payload, found, target=target, place=place, at=self.now)
        self.mapped.rejected.append(row)


def _validated(model: type[PayloadT], payload: object) -> PayloadT | list[Problem]:
    try:
        return model.model_validate(payload)
    except ValidationError as error:
        return problems(error)


def _impossible_times(
    values: Mapping[str, object], times: Iterable[str], now: datetime
) -> Iterator[Problem]:
    for name in times:
        value = values[name]
        if isinstance(value, datetime) and (why := implausible_instant(value, now)):
            yield Problem(field=name, message=why)
    started, finished = values["started_at"], values["finished_at"]
    if isinstance(started, datetime) and isinstance(finished, datetime) and finished < started:
        message = f"{finished.isoformat()} lies before started_at, {started.isoformat()}"
        yield Problem(field="finished_at", message=message)


def _is_open(build: BuildPayload, jobs: Sequence[object]) -> bool:
    """Whether a build can change though nobody touches it.

    A blocked build rests until somebody unblocks it, which Buildkite lists as running and then
    as finished anew.
    """
    if build.finished_at is None and build.state not in _AT_REST:
        return True
    return any(isinstance(job, Mapping) and job.get("state") in _BUSY for job in jobs)


def _place_of(payload: object, path: str, source: Source) -> Place:
    """A build's own address, which stays the same however often it is listed and where."""
    own = payload.get("url") if isinstance(payload, Mapping) else None
    if isinstance(own, str) and own.startswith(("https://", "http://")):
        return Place(origin=own, path="build")
    return Place(origin=source.address, path=path)


def _jobs_of(payload: object) -> list[tuple[str, object]]:
    jobs = payload.get("jobs") if isinstance(payload, Mapping) else None
    if jobs is None:
        return []
    if not isinstance(jobs, list):
        return [("jobs", jobs)]
    return [(f"jobs[{index}]", job) for index, job in enumerate(jobs)]


def _job_path(job: object) -> str:
    """Two events about one build differ in their jobs alone."""
    job_id = job.get("id") if isinstance(job, Mapping) else None
    return f"jobs[{job_id}]" if isinstance(job_id, str) else "jobs[]"
