"""Probes that are Buildkite jobs, on the queue on which the failure was seen.

Either a build of its own for every run, of which the pipeline runs one job alone (it reads
``GAUNTLET_ONLY_JOB``), or another attempt of the job in the commit's existing build, unblocked
where it waits for that. A change whose answer was lost is never simply asked for again: the build
is looked up by its mark first.
"""

import logging
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import ValidationError

from gauntlet.analyzer.culprits.model import ProbeOutcome, ProbeResult
from gauntlet.analyzer.culprits.worktrees import outcome_of
from gauntlet.core.errors import ExternalServiceError
from gauntlet.services.limits import Ticker
from gauntlet.services.transport import MaybeDoneError
from gauntlet.warehouse.buildkite.api import BuildkiteActions, NewBuild, Pipeline
from gauntlet.warehouse.buildkite.payloads import Count, JobPayload, Payload, Text, Word
from gauntlet.warehouse.buildkite.values import key_of

_LOGGER = logging.getLogger(__name__)

ONLY_JOB = "GAUNTLET_ONLY_JOB"
ONLY_TESTS = "GAUNTLET_ONLY_TESTS"

_MARKED = 12
_MOST_ASKED = 3
_BROKEN = frozenset({"broken", "waiting_failed", "blocked_failed", "unblocked_failed"})
_NEVER_RAN = frozenset({"canceled", "canceling", "expired", "skipped", "timing_out"})
_NEVER_BEGAN = frozenset({"waiting", "blocked"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildkiteTarget:
    """Which job is run, and how long to wait for it; ``search`` names this bisect in marks.

    The pipeline may run the ``tests`` alone (``GAUNTLET_ONLY_TESTS``, one a line). With
    ``absent_passes`` a commit without the job has passed: what broke it added it.
    """

    pipeline: Pipeline
    job: str
    branch: str
    search: str
    mode: Literal["targeted", "existing"] = "targeted"
    tests: tuple[str, ...] = ()
    absent_passes: bool = False
    wait_s: float = 4 * 3600.0
    poll_s: float = 30.0


class _Job(JobPayload):
    """A job that runs something, and why it does not."""


class _Blocked(Payload):
    """A step at which a build waits."""

    id: Text
    type: Literal["manual", "block"]
    state: Word


class _Build(Payload):
    """A build, with its jobs as they came."""

    number: Count
    state: Word
    web_url: Text | None = None
    jobs: tuple[dict[str, object], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Started:
    """A run that was started: its build, the attempts that had ended before it, and how many
    new ones (one a shard) there will be at least."""

    sha: str
    number: int
    before: frozenset[str]
    count: int
    since: float


class BuildkiteProbes:
    """Runs one job of a pipeline at commits."""

    def __init__(
        self,
        actions: BuildkiteActions,
        target: BuildkiteTarget,
        *,
        ticker: Ticker | None = None,
        known: Mapping[str, int] | None = None,
    ) -> None:
        """``known`` counts the runs of each commit that are kept already.

        The mark of a run is its commit and its number there: a build that an earlier process made
        and did not wait for is found by it, and not made again.
        """
        self._actions = actions
        self._target = target
        self._ticker = ticker or Ticker()
        self._resumes = known is not None
        self._runs = Counter(known or {})

    def probe(self, shas: Sequence[str]) -> Generator[ProbeResult, None, None]:
        """Run once at each commit, all at once; gives each result as its job ends.

        Raises ExternalServiceError where Buildkite does not answer as it should.
        """
        waiting = list(shas)
        started: list[_Started] = []
        while waiting or started:
            for sha in self._startable(waiting, started):
                waiting.remove(sha)
                begun = self._start(sha)
                if isinstance(begun, ProbeResult):
                    yield begun
                else:
                    started.append(begun)
            left = []
            for each in started:
                result = self._look(each)
                if result is None:
                    left.append(each)
                else:
                    yield result
            ended, started = len(left) < len(started), left
            if started and not (ended and waiting):
                self._ticker.sleep(self._target.poll_s)

    def _startable(self, waiting: Sequence[str], started: Sequence[_Started]) -> Sequence[str]:
        """Commits to start now: a job of one build is run again only after it has ended."""
        if self._target.mode == "targeted":
            return tuple(waiting)
        busy = {each.sha for each in started}
        return tuple(dict.fromkeys(sha for sha in waiting if sha not in busy))

    def _start(self, sha: str) -> _Started | ProbeResult:
        self._runs[sha] += 1
        if self._target.mode == "existing":
            return self._start_existing(sha)
        mark = f"{self._target.search}-{sha[:_MARKED]}-{self._runs[sha]}"
        found = self._marked(sha, mark) if self._resumes else None
        return self._begun(sha, found or self._create(sha, mark), frozenset())

    def _marked(self, sha: str, mark: str) -> _Build | None:
        found = self._actions.builds_of(self._target.pipeline, sha, mark=mark)
        return _parsed(found[0]) if found else None

    def _create(self, sha: str, mark: str) -> _Build:
        """Make a build, once: one with our mark, from an answer that was lost, is ours."""
        target = self._target
        wanted = NewBuild(
            commit=sha,
            branch=target.branch,
            message=f"Probe {target.job} for {target.search}",
            env={ONLY_JOB: target.job}
            | ({ONLY_TESTS: "\n".join(target.tests)} if target.tests else {}),
            mark=mark,
        )
        try:
            return _parsed(self._actions.create(target.pipeline, wanted))
        except MaybeDoneError as error:
            _LOGGER.warning("%s; looking for the build", error.message)
            found = self._marked(sha, mark)
            if found is None:
                raise
            return found

    def _start_existing(self, sha: str) -> _Started | ProbeResult:
        target = self._target
        builds = [_parsed(each) for each in self._actions.builds_of(target.pipeline, sha)]
        for build in builds:
            jobs = _jobs(build, target.job)
            if not jobs:
                continue
            ended = [str(job.id) for job in jobs if _ended(job)]
            if any(job.state in _NEVER_BEGAN for job in jobs):
                for step in _blocked(build):
                    self._change(build, "unblock", step.id)
            for job_id in ended:
                self._change(build, "retry", job_id)
            return self._begun(sha, build, frozenset(ended), len(jobs))
        said = f"no build of this commit has the job {target.job}"
        # Without any build nobody knows whether the commit has the job.
        outcome = self._without_job if builds else "unbuildable"
        return ProbeResult(sha=sha, outcome=outcome, seconds=0.0, evidence=said)

    @property
    def _without_job(self) -> ProbeOutcome:
        return "passed" if self._target.absent_passes else "unbuildable"

    def _change(self, build: _Build, what: Literal["retry", "unblock"], job: str) -> None:
        """Ask for a change until it was surely made; where nobody can tell the wait just ends."""
        change = self._actions.retry if what == "retry" else self._actions.unblock
        for _ in range(_MOST_ASKED):
            try:
                change(self._target.pipeline, build.number, job)
            except MaybeDoneError as error:
                _LOGGER.warning("%s; looking at build %d", error.message, build.number)
                if self._was_made(build, what, job):
                    return
            else:
                return

    def _was_made(self, build: _Build, what: Literal["retry", "unblock"], job: str) -> bool:
        payload = self._actions.build(self._target.pipeline, build.number)
        if payload is None:
            return False
        now = _parsed(payload)
        if what == "unblock":
            return all(step.id != job for step in _blocked(now))
        return all(str(each.id) != job for each in _jobs(now, self._target.job))

    def _begun(self, sha: str, build: _Build, before: frozenset[str], count: int = 1) -> _Started:
        return _Started(
            count=count,
            sha=sha,
            number=build.number,
            before=before,
            since=self._ticker.monotonic(),
        )

    def _look(self, each: _Started) -> ProbeResult | None:
        """The result of a run; None while it goes on."""
        payload = self._actions.build(self._target.pipeline, each.number)
        waited = self._ticker.monotonic() - each.since
        if payload is None:
            return _told(each, "infra", waited, f"build {each.number} is gone")
        build = _parsed(payload)
        where = build.web_url or f"build {each.number}"
        new = [job for job in _jobs(build, self._target.job) if str(job.id) not in each.before]
        if len(new) >= each.count and all(_ended(job) for job in new):
            outcomes = [_outcome(job) for job in new]
            return _told(each, _worst(outcomes), _seconds(new) or waited, _links(new) or where)
        if not new and build.state in {"canceled", "skipped"}:
            return _told(each, "infra", waited, f"{where} was {build.state}")
        if not new and build.state in {"passed", "failed", "not_run"}:
            # A build that failed may have failed before it had its jobs.
            outcome = self._without_job if build.state == "passed" else "unbuildable"
            return _told(each, outcome, waited, f"{where} has no job {self._target.job}")
        if waited >= self._target.wait_s:
            return _told(each, "infra", waited, f"no end after {waited:.0f} s: {where}")
        return None


def _parsed(payload: object) -> _Build:
    try:
        return _Build.model_validate(payload)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        msg = f"a build that Buildkite sent cannot be read: {where}: {first['msg']}"
        raise ExternalServiceError(msg, hint="is this the address of Buildkite's API?") from error


def _jobs(build: _Build, key: str) -> list[_Job]:
    """The latest attempts of a job, and of each of its shards, oldest first."""
    scripts = [each for each in build.jobs if each.get("type") == "script"]
    try:
        jobs = [_Job.model_validate(each) for each in scripts]
    except ValidationError as error:
        first = error.errors()[0]
        msg = f"build {build.number}: a job cannot be read: {first['loc'][0]}: {first['msg']}"
        raise ExternalServiceError(msg, hint="is this the address of Buildkite's API?") from error
    return [job for job in jobs if key_of(job) == key and not job.retried]


def _blocked(build: _Build) -> list[_Blocked]:
    steps = [each for each in build.jobs if each.get("type") in {"manual", "block"}]
    return [step for step in map(_Blocked.model_validate, steps) if step.state == "blocked"]


def _ended(job: _Job) -> bool:
    ended = {"passed", "failed", "timed_out", "canceled", "expired", "skipped"}
    return job.state in ended | _BROKEN


def _outcome(job: _Job) -> ProbeOutcome:
    """What the state of a job says of its commit."""
    if job.state == "passed":
        return "passed"
    if job.state in _BROKEN:
        # A step that it needs, such as the build of an image, failed.
        return "unbuildable"
    if job.state == "timed_out":
        # As for a run on this machine: a hang may be what is sought.
        return "failed"
    if job.state in _NEVER_RAN or job.signal_reason or job.exit_status is None:
        return "infra"
    return outcome_of(job.exit_status)


def _worst(outcomes: Sequence[ProbeOutcome]) -> ProbeOutcome:
    """One outcome of all shards: a failure is one, whatever the others could not say."""
    order: tuple[ProbeOutcome, ...] = ("failed", "unbuildable", "infra", "passed")
    return next(each for each in order if each in outcomes)


def _seconds(jobs: Sequence[_Job]) -> float:
    times = [
        (job.finished_at - job.started_at).total_seconds()
        for job in jobs
        if job.started_at is not None and job.finished_at is not None
    ]
    return sum(times)


def _links(jobs: Sequence[_Job]) -> str:
    return " ".join(job.web_url for job in jobs if job.web_url)


def _told(each: _Started, outcome: ProbeOutcome, seconds: float, evidence: str) -> ProbeResult:
    return ProbeResult(sha=each.sha, outcome=outcome, seconds=seconds, evidence=evidence)
