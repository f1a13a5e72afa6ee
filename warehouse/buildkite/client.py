"""Buildkite's REST API, and the metrics of its agents, behind the ports."""

from collections.abc import Iterator
from datetime import UTC, datetime
from urllib.parse import parse_qsl, quote

from gauntlet.core.errors import ExternalServiceError
from gauntlet.services.transport import Answer, NotFoundError, Service, Transport
from gauntlet.warehouse.buildkite.api import Agent, BuildPage, BuildQuery, NewBuild, Pipeline

API_URL = "https://api.buildkite.com/v2/"
AGENT_URL = "https://agent.buildkite.com/v3/"
MAX_PER_PAGE = 100
# A build of a thousand jobs is about 2.5 MB of JSON, and one page at a time is held.
DEFAULT_PER_PAGE = 10

# The meta-data under which a build of ours carries its mark.
_MARK = "gauntlet-probe"
_ALL_ATTEMPTS = ("include_retried_jobs", "true")


class HttpBuildkite:
    """Builds over REST."""

    def __init__(self, transport: Transport, *, per_page: int = DEFAULT_PER_PAGE) -> None:
        """Ask over ``transport``; ``per_page`` is 1 to 100 builds."""
        self._transport = transport
        self._per_page = min(max(per_page, 1), MAX_PER_PAGE)

    def builds(self, pipeline: Pipeline, query: BuildQuery) -> Iterator[BuildPage]:
        """List builds, newest first, page by page."""
        parameters = [*_parameters(query), _ALL_ATTEMPTS, ("per_page", str(self._per_page))]
        while True:
            answer = self._transport.get(_builds_path(pipeline), parameters)
            if not isinstance(answer.value, list):
                found = type(answer.value).__name__
                msg = f"{answer.address}: expected a list of builds, found {found}"
                raise ExternalServiceError(msg, hint="is this the address of Buildkite's API?")
            yield BuildPage(
                address=answer.address,
                builds=tuple(answer.value),
                is_last=answer.next_query is None,
            )
            if answer.next_query is None:
                return
            parameters = parse_qsl(answer.next_query)

    def build(self, pipeline: Pipeline, number: int) -> object | None:
        """One build with every attempt of its jobs; None where there is none (any more)."""
        try:
            answer = self._transport.get(f"{_builds_path(pipeline)}/{number}", [_ALL_ATTEMPTS])
        except NotFoundError:
            return None
        return answer.value

    def builds_of(self, pipeline: Pipeline, commit: str, *, mark: str = "") -> list[object]:
        """The newest builds of a commit, newest first; only those with ``mark``, if given."""
        parameters = [("commit", commit), _ALL_ATTEMPTS, ("per_page", str(self._per_page))]
        if mark:
            parameters.append((f"meta_data[{_MARK}]", mark))
        answer = self._transport.get(_builds_path(pipeline), parameters)
        if not isinstance(answer.value, list):
            msg = f"{answer.address}: expected a list of builds"
            raise ExternalServiceError(msg, hint="is this the address of Buildkite's API?")
        return answer.value

    def create(self, pipeline: Pipeline, build: NewBuild) -> object:
        """Make a build; returns it."""
        body = {
            "commit": build.commit,
            "branch": build.branch,
            "message": build.message,
            "env": dict(build.env),
            "meta_data": {_MARK: build.mark},
            # Which branches a pipeline builds by itself says nothing of what is asked for by name.
            "ignore_pipeline_branch_filters": True,
        }
        return self._transport.send("POST", _builds_path(pipeline), body).value

    def retry(self, pipeline: Pipeline, number: int, job_id: str) -> object:
        """Run a job that has ended again, as a new attempt; returns the new one."""
        return self._change(pipeline, number, job_id, "retry")

    def unblock(self, pipeline: Pipeline, number: int, job_id: str) -> object:
        """Let a blocked step go on; returns it."""
        return self._change(pipeline, number, job_id, "unblock")

    def log(self, pipeline: Pipeline, number: int, job_id: str) -> str | None:
        """The log of one attempt; None where there is none (any more)."""
        job = f"{_builds_path(pipeline)}/{number}/jobs/{quote(job_id, safe='')}"
        try:
            answer = self._transport.get(f"{job}/log")
        except NotFoundError:
            return None
        content = answer.value.get("content") if isinstance(answer.value, dict) else None
        if not isinstance(content, str):
            msg = f"{answer.address}: the answer has no content"
            raise ExternalServiceError(msg, hint="is this the address of Buildkite's API?")
        return content

    def _change(self, pipeline: Pipeline, number: int, job_id: str, what: str) -> object:
        job = f"{_builds_path(pipeline)}/{number}/jobs/{quote(job_id, safe='')}"
        return self._transport.send("PUT", f"{job}/{what}", {}).value


class HttpAgentMetrics:
    """The state of the queues that an agent token may see; the token is not one of REST."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def read(self) -> object:
        """Return the metrics as Buildkite gave them."""
        return self._transport.get("metrics").value


def _builds_path(pipeline: Pipeline) -> str:
    organization, slug = quote(pipeline.organization, safe=""), quote(pipeline.slug, safe="")
    return f"organizations/{organization}/pipelines/{slug}/builds"


def _parameters(query: BuildQuery) -> list[tuple[str, str]]:
    times = {
        "created_from": query.created_from,
        "created_to": query.created_to,
        "finished_from": query.finished_from,
    }
    found = [(name, _written(value)) for name, value in times.items() if value is not None]
    return found + [("state[]", state) for state in query.states]


def _written(instant: datetime) -> str:
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


AGENTS = Service(
    name="Buildkite",
    reading="the token needs the scope read_agents, and access to the organisation",
    writing="the token needs the scope write_agents, of a user who may stop agents",
    missing="check the slug of the organisation, and whether the agent is still connected",
)


class HttpAgents:
    """The connected agents of an organisation: who is on a host, pausing and resuming them."""

    def __init__(self, transport: Transport, organization: str, *, pause_minutes: int) -> None:
        """Ask over ``transport``; a pause ends by itself, after 10,080 minutes at the latest."""
        self._transport = transport
        self._path = f"organizations/{quote(organization, safe='')}/agents"
        self._pause_minutes = pause_minutes

    def agents_of(self, host: str) -> tuple[Agent, ...]:
        """The connected agents of a host; none where it is not known."""
        found: list[Agent] = []
        parameters = [("hostname", host), ("per_page", str(MAX_PER_PAGE))]
        while parameters:
            answer = self._transport.get(self._path, parameters)
            found += (_agent(value, answer.address) for value in _listed(answer))
            parameters = parse_qsl(answer.next_query or "")
        # A filter that a proxy drops would pause the whole fleet.
        return tuple(agent for agent in found if agent.host == host)

    def pause(self, agent: Agent, note: str) -> None:
        """Give an agent no more jobs; what it runs goes on."""
        body = {"note": note, "timeout_in_minutes": self._pause_minutes}
        self._transport.send("PUT", self._change(agent, "pause"), body)

    def resume(self, agent: Agent) -> None:
        """Give an agent jobs again."""
        self._transport.send("PUT", self._change(agent, "resume"), {})

    def _change(self, agent: Agent, what: str) -> str:
        return f"{self._path}/{quote(agent.agent_id, safe='')}/{what}"


def _listed(answer: Answer) -> list[object]:
    if not isinstance(answer.value, list):
        msg = f"{answer.address}: expected a list of agents, found {type(answer.value).__name__}"
        raise ExternalServiceError(msg, hint="is this the address of Buildkite's API?")
    return answer.value


def _agent(value: object, address: str) -> Agent:
    fields = value if isinstance(value, dict) else {}
    texts = [fields.get(key) for key in ("id", "name", "hostname")]
    if not all(isinstance(text, str) for text in texts) or not texts[0]:
        msg = f"{address}: an agent without id, name and hostname"
        raise ExternalServiceError(msg, hint="is this the address of Buildkite's API?")
    agent_id, name, host = map(str, texts)
    return Agent(agent_id=agent_id, name=name, host=host, paused=fields.get("paused") is True)
