"""The part of the ``docker`` SDK that is used, as ports; imported only where it is needed."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from gauntlet.core.errors import InfrastructureError, UsageError

_API_TIMEOUT_S = 10


class DockerImage(Protocol):
    """What is used of the SDK's image."""

    id: str
    attrs: Mapping[str, Sequence[str]]


class DockerContainer(Protocol):
    """What is used of the SDK's container."""

    id: str
    status: str
    labels: Mapping[str, str]
    attrs: Mapping[str, Mapping[str, object]]

    @property
    def image(self) -> DockerImage:
        """The image that it was made of."""

    def reload(self) -> None:
        """Ask the daemon for ``status`` and ``attrs`` again."""

    def logs(self, *, stream: bool, follow: bool) -> Iterator[bytes]:
        """Both output streams."""

    def stop(self, *, timeout: int) -> None:
        """TERM, then KILL after ``timeout`` s."""

    def remove(self, *, force: bool) -> None:
        """Remove it, running or not."""


class DockerContainers(Protocol):
    """What is used of the SDK's collection of containers."""

    def run(
        self, image: str, command: Sequence[str], *, detach: bool, **options: object
    ) -> DockerContainer:
        """Create and start a container."""

    def list(self, *, all: bool, filters: Mapping[str, str]) -> Sequence[DockerContainer]:  # noqa: A002 - the SDK's name
        """Containers with a label."""


class DockerClient(Protocol):
    """What is used of the SDK's client."""

    @property
    def containers(self) -> DockerContainers:
        """All containers."""


def connect() -> DockerClient:
    """Open the daemon that the environment names.

    Raises UsageError without the SDK, InfrastructureError where no daemon answers.
    """
    try:
        import docker
    except ImportError as error:
        hint = "pip install 'gauntlet[docker]'"
        raise UsageError("engines in containers need the docker SDK", hint=hint) from error
    try:
        client: DockerClient = docker.from_env(timeout=_API_TIMEOUT_S)
    except docker.errors.DockerException as error:
        msg = f"no Docker daemon answers: {error}"
        raise InfrastructureError(msg, hint="start it, or set DOCKER_HOST") from error
    return client


def is_of_docker(error: Exception) -> bool:
    """Whether the SDK, or the HTTP library below it, raised this; both are imported lazily."""
    modules = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
    return bool(modules & {"docker", "requests", "urllib3"}) or isinstance(error, OSError)


@contextlib.contextmanager
def docker_errors_ignored() -> Iterator[None]:
    """Go on after the block where the daemon refused what it was asked in it."""
    try:
        yield
    except Exception as error:
        if not is_of_docker(error):
            raise
