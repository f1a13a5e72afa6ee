"""Rows of what continuous integration did: commits, builds, jobs, tests, queues, machines."""

from collections.abc import Mapping
from typing import ClassVar, Literal
from uuid import UUID

from pydantic import Field, FiniteFloat

from gauntlet.warehouse.rows.base import Milliseconds, Row, UtcTime

Outcome = Literal["passed", "failed", "error", "skipped", "xfailed", "xpassed"]
Severity = Literal["error", "failed"]


class CommitRow(Row):
    """One commit of a branch's first-parent history; ``position`` counts from its root, from 1."""

    table: ClassVar[str] = "commits"
    identity = ("repository", "branch", "position")
    order = "version"

    repository: str
    branch: str
    position: int = Field(ge=1)
    sha: str
    parent: str = ""
    author: str
    committed_at: UtcTime
    title: str
    pull_request: int | None = Field(default=None, ge=1)
    reverts: str | None = None
    paths: tuple[str, ...] = ()
    version: int = Field(ge=0)


class BuildRow(Row):
    """One version of a build's state. ``state`` is Buildkite's word for it."""

    table: ClassVar[str] = "builds"
    identity = ("build_id",)
    order = "version"
    day = "created_at"

    build_id: UUID
    pipeline: str
    number: int = Field(ge=1)
    sha: str
    branch: str
    pull_request: int | None = Field(default=None, ge=1)
    state: str
    blocked: bool = False
    source: str = ""
    message: str = ""
    author: str = ""
    url: str = ""
    rebuilt_from: UUID | None = None
    environment: Mapping[str, str] = Field(default_factory=dict)
    created_at: UtcTime
    scheduled_at: UtcTime | None = None
    started_at: UtcTime | None = None
    finished_at: UtcTime | None = None
    version: int = Field(ge=0)


class JobAttemptRow(Row):
    """One version of the state of one attempt of a job.

    ``job_key`` is the key of the job definition without its shard, so that the shards and
    attempts of a job stand together. ``exit_status`` is None while it runs and where the agent
    was lost.
    """

    table: ClassVar[str] = "job_attempts"
    identity = ("job_id",)
    order = "version"
    day = "created_at"

    job_id: UUID
    build_id: UUID
    pipeline: str
    build_number: int = Field(ge=1)
    sha: str
    branch: str
    group_key: str = ""
    job_key: str
    job_name: str
    shard: int | None = Field(default=None, ge=0)
    shards: int | None = Field(default=None, ge=1)
    attempt: int = Field(default=1, ge=1)
    retried: bool = False
    retried_from: UUID | None = None
    retry_type: str = ""
    queue: str
    agent: str = ""
    host: str = ""
    state: str
    soft_failed: bool = False
    exit_status: int | None = None
    signal: str = ""
    signal_reason: str = ""
    url: str = ""
    created_at: UtcTime
    scheduled_at: UtcTime | None = None
    runnable_at: UtcTime | None = None
    started_at: UtcTime | None = None
    finished_at: UtcTime | None = None
    version: int = Field(ge=0)


class JobFailureRow(Row):
    """Why one attempt failed, as a classifier (or a person) said it; the latest version counts."""

    table: ClassVar[str] = "job_failures"
    identity = ("job_id",)
    order = "version"

    job_id: UUID
    failure_class: str
    signature: str
    line_number: int | None = Field(default=None, ge=1)
    line: str = ""
    wrong_exit_code: bool = False
    classifier: str
    version: int = Field(ge=0)


class JobLogRow(Row):
    """What is kept of one job's log: its size and digest, where it is, its end and error lines."""

    table: ClassVar[str] = "job_logs"
    identity = ("job_id",)
    order = "version"

    job_id: UUID
    bytes: int = Field(ge=0)
    lines: int = Field(ge=0)
    sha256: str
    location: str = ""
    first_at: UtcTime | None = None
    last_at: UtcTime | None = None
    tail: str = ""
    error_line_numbers: tuple[int, ...] = ()
    error_lines: tuple[str, ...] = ()
    version: int = Field(ge=0)


class EnvironmentRow(Row):
    """One thing that one attempt ran with, and its version.

    ``released_at`` says when that version came out, where the source knows.
    """

    table: ClassVar[str] = "environments"
    identity = ("job_id", "kind", "name", "at")
    day = "at"

    job_id: UUID
    kind: Literal["package", "image", "driver", "variable", "fingerprint", "drift"]
    name: str
    version: str
    released_at: UtcTime | None = None
    at: UtcTime


class TestDetailRow(Row):
    """What one test said that did not simply pass; sits beside its row in ``test_results``."""

    __test__ = False
    table: ClassVar[str] = "test_details"
    identity = ("test_id", "job_id", "occurrence")
    day = "started_at"

    test_id: int = Field(ge=0, lt=2**64)
    job_id: UUID
    occurrence: int = Field(ge=0)
    outcome: Outcome
    message: str
    text: str = ""
    file: str = ""
    line: int | None = Field(default=None, ge=0)
    started_at: UtcTime


class QueueSampleRow(Row):
    """One look at one queue; what the source did not say is None."""

    table: ClassVar[str] = "queue_samples"
    identity = ("queue", "at")
    day = "at"

    at: UtcTime
    queue: str
    agents_total: int | None = Field(default=None, ge=0)
    agents_busy: int | None = Field(default=None, ge=0)
    agents_idle: int | None = Field(default=None, ge=0)
    jobs_waiting: int | None = Field(default=None, ge=0)
    jobs_running: int | None = Field(default=None, ge=0)
    oldest_wait_s: FiniteFloat | None = Field(default=None, ge=0)


class QueuePriceRow(Row):
    """What one hour of one agent of a queue costs, from an instant on."""

    table: ClassVar[str] = "queue_prices"
    identity = ("queue", "valid_from")
    order = "version"

    queue: str
    vendor: str
    accelerator: str = ""
    usd_per_hour: FiniteFloat | None = Field(default=None, ge=0)
    valid_from: UtcTime
    version: int = Field(default=0, ge=0)


class GpuSampleRow(Row):
    """One look at one accelerator."""

    table: ClassVar[str] = "gpu_samples"
    identity = ("host", "gpu", "at")
    day = "at"

    at: UtcTime
    host: str
    gpu: str
    name: str = ""
    job_id: UUID | None = None
    run_id: str = ""
    utilization_pct: FiniteFloat | None = Field(default=None, ge=0, le=100)
    memory_used_mib: FiniteFloat | None = Field(default=None, ge=0)
    power_w: FiniteFloat | None = Field(default=None, ge=0)
    sm_clock_mhz: FiniteFloat | None = Field(default=None, ge=0)
    temperature_c: FiniteFloat | None = None
    throttle_bits: int | None = Field(default=None, ge=0)
    xid: int | None = Field(default=None, ge=0)


class SpanRow(Row):
    """One stretch of time inside a build: a step, a log section, an image pull, a start-up."""

    table: ClassVar[str] = "spans"
    identity = ("build_id", "job_id", "span_id")
    day = "started_at"

    build_id: UUID | None = None
    job_id: UUID
    span_id: str
    parent_id: str = ""
    trace_id: str = ""
    kind: str
    name: str
    started_at: UtcTime
    duration_ms: Milliseconds | None = None
    status: str = ""
    attributes: Mapping[str, str] = Field(default_factory=dict)
