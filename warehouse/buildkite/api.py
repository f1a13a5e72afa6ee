"""What is asked of Buildkite: a port, which REST serves, and tests serve from memory."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """A pipeline by the slugs of its organisation and its own."""

    organization: str
    slug: str

    def __str__(self) -> str:
        return f"{self.organization}/{self.slug}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildQuery:
    """Which builds to list; None and empty leave a condition out.

    ``created_from`` and ``finished_from`` are the first instants that count, ``created_to`` is
    the first that does not.
    """

    created_from: datetime | None = None
    created_to: datetime | None = None
    finished_from: datetime | None = None
    states: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildPage:
    """One page of a listing: builds as Buildkite gave them, with every attempt of their jobs."""

    address: str
    builds: tuple[object, ...]
    is_last: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBuild:
    """A build to be made. ``mark`` is kept with it, and finds it again: one build has one mark."""

    commit: str
    branch: str
    message: str
    env: Mapping[str, str]
    mark: str


class BuildkiteActions(Protocol):
    """Builds that are made and jobs that are started; errors as for :class:`BuildkiteApi`.

    Each change raises MaybeDoneError where it may have been carried out although no answer came.
    """

    def build(self, pipeline: Pipeline, number: int) -> object | None:
        """One build with every attempt of its jobs; None where there is none (any more)."""

    def builds_of(self, pipeline: Pipeline, commit: str, *, mark: str = "") -> list[object]:
        """The newest builds of a commit, newest first; only those with ``mark``, if given."""

    def create(self, pipeline: Pipeline, build: NewBuild) -> object:
        """Make a build; returns it."""

    def retry(self, pipeline: Pipeline, number: int, job_id: str) -> object:
        """Run a job that has ended again, as a new attempt; returns the new one."""

    def unblock(self, pipeline: Pipeline, number: int, job_id: str) -> object:
        """Let a blocked step go on; returns it."""


class BuildkiteApi(Protocol):
    """Builds of one organisation.

    Every method raises ExternalServiceError where Buildkite does not answer as it should, and
    UsageError where it knows no such pipeline or does not let us see it.
    """

    def builds(self, pipeline: Pipeline, query: BuildQuery) -> Iterator[BuildPage]:
        """List builds, newest first, page by page; each page is asked for when it is taken.

        Pages go by position: builds that join or leave the listing meanwhile shift them.
        """

    def build(self, pipeline: Pipeline, number: int) -> object | None:
        """One build with every attempt of its jobs; None where there is none (any more)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """A connected agent and the host that it runs on."""

    agent_id: str
    name: str
    host: str
    paused: bool = False
