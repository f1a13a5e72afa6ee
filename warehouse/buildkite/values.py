"""The columns of builds and job attempts, from payloads that are what they should be."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from gauntlet.warehouse.buildkite.job_keys import Shard, job_key, shard_in_name
from gauntlet.warehouse.buildkite.payloads import (
    BuildIdentity,
    BuildPayload,
    JobKind,
    JobPayload,
    parse_instant,
    well_formed,
)
from gauntlet.warehouse.buildkite.rejections import without_addresses
from gauntlet.warehouse.buildkite.versions import build_version, job_version

# The only variables of a build that are stored: they say which tests were asked for. Anything
# else may be a secret, and a new secret must not need a new rule to stay one.
STORED_VARIABLES = frozenset(
    {
        "DOCS_ONLY_DISABLE",
        "NIGHTLY",
        "NOAUTO",
        "RUN_ALL",
        "TORCH_NIGHTLY",
        "VLLM_CI_BRANCH",
        "VLLM_CI_ONLY_STEP_KEYS",
        "VLLM_USE_PRECOMPILED",
    }
)
# Where a job names no queue, agents of this one take it.
DEFAULT_QUEUE = "default"

_AGENT_LOST = -1
_MAX_MESSAGE = 500
_MAX_NAME = 200
BUILD_TIMES = ("created_at", "scheduled_at", "started_at", "finished_at")
JOB_TIMES = ("created_at", "scheduled_at", "runnable_at", "started_at", "finished_at")


def build_values(
    build: BuildPayload, jobs: Sequence[object], pipeline: str, *, whole: bool
) -> dict[str, object]:
    """Columns of a build. Its version also knows of jobs that were made or unblocked later."""
    author = (build.creator.name if build.creator else None) or ""
    instants = [build.failing_at, *(getattr(build, name) for name in BUILD_TIMES)]
    for job in jobs:
        instants += [instant_of(job, "created_at"), instant_of(job, "unblocked_at")]
    return {
        "build_id": build.id,
        "pipeline": pipeline,
        "number": build.number,
        "sha": build.commit,
        "branch": build.branch,
        "pull_request": build.pull_request.id if build.pull_request else None,
        "state": build.state,
        "blocked": bool(build.blocked),
        "source": build.source or "",
        "message": _first_line(build.message, _MAX_MESSAGE),
        "author": without_addresses(author),
        "url": build.web_url or "",
        "rebuilt_from": build.rebuilt_from.id if build.rebuilt_from else None,
        "environment": _stored_variables(build.env or {}),
        **{name: getattr(build, name) for name in BUILD_TIMES},
        "created_at": _whole_second(build.created_at),
        "version": build_version(build.state, instants, whole=whole),
    }


def job_values(
    job: JobPayload, kind: JobKind, build: BuildIdentity, pipeline: str, *, whole: bool
) -> dict[str, object]:
    """Columns of an attempt of a job."""
    instants = {name: getattr(job, name) for name in JOB_TIMES}
    retried = bool(job.retried)
    name = _name_of(job)
    shard = _shard_of(job, name)
    return {
        "job_id": job.id,
        "build_id": build.id,
        "pipeline": pipeline,
        "build_number": build.number,
        "sha": build.commit,
        "branch": build.branch,
        "group_key": job.group_key or "",
        "job_key": key_of(job),
        "job_name": name,
        "shard": shard.index if shard else None,
        "shards": shard.total if shard else None,
        "attempt": _attempt_of(job),
        "retried": retried,
        "retried_from": job.retry_source.job_id if job.retry_source else None,
        "retry_type": (job.retry_source.retry_type if job.retry_source else None) or "",
        "queue": _queue_of(job) if kind.type == "script" else "",
        "agent": (job.agent.name if job.agent else None) or "",
        "host": (job.agent.hostname if job.agent else None) or "",
        "state": job.state,
        "soft_failed": bool(job.soft_failed),
        "exit_status": _exit_status_of(job),
        "signal": job.signal or "",
        "signal_reason": job.signal_reason or "",
        "url": job.web_url or "",
        **instants,
        "created_at": _whole_second(instants["created_at"]),
        "version": job_version(job.state, instants.values(), retried=retried, whole=whole),
    }


def key_of(job: JobPayload) -> str:
    """The key under which the shards and attempts of a job stand together."""
    name = _name_of(job)
    return job_key(step_key=job.step_key, name=name, shard=_shard_of(job, name))


def _whole_second(instant: datetime | None) -> datetime | None:
    """Part of what sorts a table, so webhooks and the API must agree to the last digit."""
    return instant.replace(microsecond=0) if instant else None


def _name_of(job: JobPayload) -> str:
    name = job.name or job.step_key or _first_line(job.command, _MAX_NAME)
    return name[:_MAX_NAME]


def _shard_of(job: JobPayload, name: str) -> Shard | None:
    """The place in the parallel group, which is the truth; else what the name says."""
    if job.parallel_group_index is None or job.parallel_group_total is None:
        return shard_in_name(name)
    return Shard(index=job.parallel_group_index, total=job.parallel_group_total)


def _attempt_of(job: JobPayload) -> int:
    """Count from 1. A retry that does not say how many came before it is at least the second."""
    if job.retries_count:
        return job.retries_count + 1
    return 2 if job.retry_source else 1


def _queue_of(job: JobPayload) -> str:
    """The queue that the rules ask for; without one, the cluster's queue by its id."""
    for rule in job.agent_query_rules or ():
        key, _, value = rule.partition("=")
        if key.strip() == "queue" and value.strip():
            return value.strip()
    return str(job.cluster_queue_id) if job.cluster_queue_id else DEFAULT_QUEUE


def _exit_status_of(job: JobPayload) -> int | None:
    """None before the end, and where the agent was lost, for which Buildkite writes -1."""
    if job.finished_at is None or job.exit_status == _AGENT_LOST:
        return None
    return job.exit_status


def _stored_variables(environment: Mapping[str, object]) -> dict[str, str]:
    return {
        name: well_formed(str(value))
        for name, value in sorted(environment.items())
        if name in STORED_VARIABLES and value is not None
    }


def _first_line(text: str | None, limit: int) -> str:
    lines = (text or "").strip()[:limit].splitlines()
    return without_addresses(lines[0]) if lines else ""


def instant_of(payload: object, name: str) -> datetime | None:
    """Return a time of a payload that may be anything; None where there is no readable one."""
    if not isinstance(payload, Mapping):
        return None
    try:
        return parse_instant(payload.get(name))
    except ValueError:
        return None
