"""The parts of Buildkite's payloads that we read, as models.

What is absent or null is None; what has the wrong type is an error. Keys that no model names are
never looked at, so they can never be stored: addresses, secrets and meta-data among them.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
)

# Webhooks and some REST fields write "2013-09-03 13:24:38 UTC".
_SPELT_UTC = re.compile(r"\s*(UTC|GMT)$")

# What the columns of the warehouse hold; what does not fit is refused here, by name.
_UINT8 = 2**8 - 1
_UINT16 = 2**16 - 1
_UINT32 = 2**32 - 1
_INT32 = 2**31


def parse_instant(value: object) -> datetime:
    """Read a time in either of Buildkite's spellings; return it in UTC.

    Raises ValueError for what is no text, no time, or a time without a zone.
    """
    msg = "a time must be text, such as 2026-11-02T10:00:00Z"
    if isinstance(value, str):
        try:
            found = datetime.fromisoformat(_SPELT_UTC.sub("+00:00", value.strip()))
            if found.tzinfo is not None:
                return found.astimezone(UTC)
            msg = "a time needs a zone"
        except (ValueError, OverflowError):
            msg = "this is no ISO 8601 time"
    raise ValueError(msg)


def _number(value: object) -> object:
    """Buildkite writes the number of a pull request as text."""
    return int(value) if isinstance(value, str) and value.isdecimal() else value


def well_formed(text: str) -> str:
    """Replace half surrogate pairs, which JSON may spell and no file can hold."""
    return text.encode("utf-8", "replace").decode()


Text = Annotated[str, AfterValidator(well_formed)]
Instant = Annotated[datetime, BeforeValidator(parse_instant)]
Count = Annotated[StrictInt, Field(ge=0, le=_UINT32)]
Number = Annotated[StrictInt, Field(ge=1, le=_UINT32)]
Word = Annotated[Text, Field(min_length=1)]


class Payload(BaseModel):
    """Base of what is read: unknown keys are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Person(Payload):
    """Who created a build."""

    name: Text | None = None


class PullRequest(Payload):
    """The pull request of a build; Buildkite gives an empty object where there is none."""

    id: Annotated[Number | None, BeforeValidator(_number)] = None


class BuildReference(Payload):
    """Another build."""

    id: UUID


class PipelineReference(Payload):
    """The pipeline of a build."""

    slug: Word | None = None


class BuildIdentity(Payload):
    """What a job needs to know of its build; good even where the rest of the build is not."""

    id: UUID
    number: Number
    commit: Text
    branch: Text
    pipeline: PipelineReference | None = None


class BuildPayload(BuildIdentity):
    """A build without its jobs, which are read one by one: a bad job costs one row."""

    state: Word
    blocked: StrictBool | None = None
    source: Text | None = None
    message: Text | None = None
    creator: Person | None = None
    pull_request: PullRequest | None = None
    rebuilt_from: BuildReference | None = None
    env: Mapping[str, object] | None = None
    web_url: Text | None = None
    created_at: Instant
    scheduled_at: Instant | None = None
    started_at: Instant | None = None
    failing_at: Instant | None = None
    finished_at: Instant | None = None


class AgentPayload(Payload):
    """The agent that ran a job."""

    name: Text | None = None
    hostname: Text | None = None


class RetrySource(Payload):
    """The attempt that an attempt repeats."""

    job_id: UUID
    retry_type: Text | None = None


class JobKind(Payload):
    """The type of a job, which says whether it runs anything."""

    type: Literal["script", "trigger", "waiter", "manual", "block", "input"]

    @property
    def runs(self) -> bool:
        """Whether jobs of this type are attempts: commands, and builds that are triggered."""
        return self.type in {"script", "trigger"}


class JobPayload(Payload):
    """A job that runs something."""

    id: UUID
    name: Text | None = None
    step_key: Text | None = None
    group_key: Text | None = None
    command: Text | None = None
    state: Word
    web_url: Text | None = None
    agent_query_rules: tuple[Text, ...] | None = None
    cluster_queue_id: UUID | None = None
    agent: AgentPayload | None = None
    soft_failed: StrictBool | None = None
    exit_status: Annotated[StrictInt, Field(ge=-_INT32, lt=_INT32)] | None = None
    signal: Text | None = None
    signal_reason: Text | None = None
    retried: StrictBool | None = None
    retries_count: Annotated[StrictInt, Field(ge=0, lt=_UINT8)] | None = None
    retry_source: RetrySource | None = None
    parallel_group_index: Annotated[StrictInt, Field(ge=0, le=_UINT16)] | None = None
    parallel_group_total: Annotated[StrictInt, Field(ge=1, le=_UINT16)] | None = None
    created_at: Instant
    scheduled_at: Instant | None = None
    runnable_at: Instant | None = None
    started_at: Instant | None = None
    finished_at: Instant | None = None


class QueueJobs(Payload):
    """Jobs of one queue: ``scheduled`` ones wait for an agent, ``waiting`` ones for other jobs."""

    scheduled: Count | None = None
    running: Count | None = None


class QueueAgents(Payload):
    """Agents of one queue."""

    idle: Count | None = None
    busy: Count | None = None
    total: Count | None = None
