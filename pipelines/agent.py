"""The Buildkite agent, as far as an upload needs it: a port, and the program behind it."""

import re
from pathlib import Path
from typing import Literal, Protocol

from gauntlet.core.errors import ExternalServiceError, InfrastructureError
from gauntlet.core.proc import CommandError, Completed, run

AnnotationStyle = Literal["info", "success", "warning", "error"]

_REJECTED = "upload rejected"
_KEY_TAKEN = "has already been used by another step"
# What the agent says when Buildkite did not answer, or not for now.
_PASSING = re.compile(
    r"\b(429 Too Many|500 Internal|502 Bad|503 Service|504 Gateway)|time(d )?[ -]?out"
    r"|deadline exceeded|connection (refused|reset)|no such host|temporary failure"
    r"|unexpected EOF|TLS handshake|broken pipe",
    re.IGNORECASE,
)


class AgentRefusedError(ExternalServiceError):
    """Buildkite was asked and said no: nothing of this request was done."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.key_taken = _KEY_TAKEN in message


class AgentUnreachableError(ExternalServiceError):
    """Buildkite did not answer, so the request may have been done or not."""


class Agent(Protocol):
    """What an upload asks of the agent.

    Every method raises AgentRefusedError or AgentUnreachableError, and InfrastructureError where
    there is no agent.
    """

    def upload(self, pipeline: str) -> None:
        """Add the steps of a pipeline (YAML) to the build, all or none."""

    def annotate(self, body: str, *, context: str, style: AnnotationStyle) -> None:
        """Show Markdown on the page of the build, in place of what the context showed before."""

    def keep_artifacts(self, folder: Path, pattern: str) -> None:
        """Keep files below a folder with the build, under their paths relative to it."""

    def get_metadata(self, key: str) -> str | None:
        """Value that the build keeps under a key, None where there is none."""

    def set_metadata(self, key: str, value: str) -> None:
        """Keep a value under a key, for all jobs of the build."""


class CommandAgent:
    """The ``buildkite-agent`` program; it finds its job and its token in the environment."""

    def __init__(self, program: str = "buildkite-agent", *, timeout: float = 120.0) -> None:
        """Use ``program``; ``timeout`` is in seconds, for each call."""
        self._program = program
        self._timeout = timeout

    def upload(self, pipeline: str) -> None:
        """Add the steps of a pipeline (YAML) to the build, all or none."""
        self._call("pipeline", "upload", stdin=pipeline)

    def annotate(self, body: str, *, context: str, style: AnnotationStyle) -> None:
        """Show Markdown on the page of the build, in place of what the context showed before."""
        self._call("annotate", "--context", context, "--style", style, stdin=body)

    def keep_artifacts(self, folder: Path, pattern: str) -> None:
        """Keep files below a folder with the build, under their paths relative to it."""
        self._call("artifact", "upload", pattern, cwd=folder)

    def get_metadata(self, key: str) -> str | None:
        """Value that the build keeps under a key, None where there is none."""
        done = self._call("meta-data", "get", "--default", "", key)
        return done.stdout.rstrip("\n") or None

    def set_metadata(self, key: str, value: str) -> None:
        """Keep a value under a key, for all jobs of the build."""
        self._call("meta-data", "set", key, value)

    def _call(
        self, *arguments: str, stdin: str | None = None, cwd: Path | None = None
    ) -> Completed:
        argv = [self._program, *arguments]
        data = None if stdin is None else stdin.encode()
        try:
            done = run(argv, timeout=self._timeout, check=False, stdin=data, cwd=cwd)
        except CommandError as error:
            if error.result is not None:
                raise AgentUnreachableError(error.message) from error
            hint = "run it in a Buildkite job, name the program with --agent, or use --dry-run"
            raise InfrastructureError(error.message, hint=hint) from error
        if done.returncode == 0:
            return done
        said = (done.stderr.strip() or done.stdout.strip() or f"status {done.returncode}")[-4000:]
        message = f"`{self._program} {' '.join(arguments[:2])}`: {said}"
        if _REJECTED not in said and _PASSING.search(said):
            raise AgentUnreachableError(message)
        raise AgentRefusedError(message)
