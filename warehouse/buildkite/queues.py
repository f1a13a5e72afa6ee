"""The agents' metrics as samples of queues.

``jobs_waiting`` is what Buildkite calls ``scheduled``: jobs that lack nothing but an agent. Its
``waiting`` jobs wait for other jobs, and no agent would help them.
"""

from collections.abc import Mapping
from datetime import datetime

from pydantic import ValidationError

from gauntlet.warehouse.buildkite.payloads import QueueAgents, QueueJobs, well_formed
from gauntlet.warehouse.buildkite.rejections import Place, Problem, problems, rejected
from gauntlet.warehouse.rows.base import Row
from gauntlet.warehouse.rows.ci import QueueSampleRow
from gauntlet.warehouse.rows.ingest import RejectedRow


def queue_samples(payload: object, *, origin: str, at: datetime) -> list[Row]:
    """Map one look at all queues; a queue that does not fit becomes a rejection.

    A queue that stands only among the jobs has unknown agents, and the other way round.
    """
    jobs, agents = _queues(payload, "jobs"), _queues(payload, "agents")
    if jobs is None and agents is None:
        found = [Problem(field="", message="neither jobs.queues nor agents.queues is there")]
        return [_refused(payload, found, "", origin, at)]
    names = sorted({*(jobs or {}), *(agents or {})})
    return [_sample(name, jobs or {}, agents or {}, origin, at) for name in names]


def _sample(
    name: str,
    jobs: Mapping[str, object],
    agents: Mapping[str, object],
    origin: str,
    at: datetime,
) -> Row:
    found: list[Problem] = []
    job_counts, agent_counts = QueueJobs(), QueueAgents()
    try:
        job_counts = QueueJobs.model_validate(jobs.get(name, {}))
    except ValidationError as error:
        found += _below(f"jobs.queues.{name}", error)
    try:
        agent_counts = QueueAgents.model_validate(agents.get(name, {}))
    except ValidationError as error:
        found += _below(f"agents.queues.{name}", error)
    if found:
        return _refused({}, found, "", origin, at)
    return QueueSampleRow(
        at=at,
        queue=well_formed(name),
        agents_total=agent_counts.total,
        agents_busy=agent_counts.busy,
        agents_idle=agent_counts.idle,
        jobs_waiting=job_counts.scheduled,
        jobs_running=job_counts.running,
    )


def _queues(payload: object, kind: str) -> Mapping[str, object] | None:
    part = payload.get(kind) if isinstance(payload, Mapping) else None
    queues = part.get("queues") if isinstance(part, Mapping) else None
    return queues if isinstance(queues, Mapping) else None


def _below(path: str, error: ValidationError) -> list[Problem]:
    return [
        Problem(field=f"{path}.{problem.field}".rstrip("."), message=problem.message)
        for problem in problems(error)
    ]


def _refused(
    payload: object, found: list[Problem], path: str, origin: str, at: datetime
) -> RejectedRow:
    place = Place(origin=origin, path=path)
    return rejected(payload, found, target="queue_samples", place=place, at=at)
