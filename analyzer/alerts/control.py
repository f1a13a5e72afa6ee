"""What takes hosts out and lets them return: a port, Buildkite behind it, or a command."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from gauntlet.analyzer.acting.policy import DrainLimits
from gauntlet.core import proc
from gauntlet.core.errors import UsageError
from gauntlet.services.settings import Buildkite
from gauntlet.services.transport import Transport
from gauntlet.warehouse.buildkite.api import Agent
from gauntlet.warehouse.buildkite.client import AGENTS, HttpAgents

COMMAND_TIMEOUT_S = 300.0
_HOST_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]*")


class AgentControl(Protocol):
    """Agents of hosts.

    Every method raises a GauntletError where it could not be done; a change raises MaybeDoneError
    where it may have been.
    """

    def agents_of(self, host: str) -> tuple[Agent, ...]:
        """The connected agents of a host; none where nothing runs there."""

    def pause(self, agent: Agent, note: str) -> None:
        """Give an agent no more jobs; what it runs goes on."""

    def resume(self, agent: Agent) -> None:
        """Give an agent jobs again."""


class CommandControl:
    """Programs of the team's own; a host counts as one agent of its name."""

    def __init__(
        self,
        command: Sequence[str],
        resume_command: Sequence[str] = (),
        *,
        timeout_s: float = COMMAND_TIMEOUT_S,
    ) -> None:
        self._command = tuple(command)
        self._resume_command = tuple(resume_command)
        self._timeout_s = timeout_s

    def agents_of(self, host: str) -> tuple[Agent, ...]:
        """The host itself: what runs there is not known."""
        return (Agent(agent_id=host, name=host, host=host),)

    def pause(self, agent: Agent, note: str) -> None:
        """Run the command that takes the host out; the note is in its log alone."""
        del note
        self._run(self._command, agent.host)

    def resume(self, agent: Agent) -> None:
        """Run the command that brings the host back. Raises UsageError where there is none."""
        if not self._resume_command:
            msg = "the policy's drain.resume_command is empty, so nothing brings a host back"
            raise UsageError(msg, hint="bring it back by hand, then `gauntlet alerts close`")
        self._run(self._resume_command, agent.host)

    def _run(self, command: Sequence[str], host: str) -> None:
        # Names come from agents; one that looks like an option must not become one.
        if not _HOST_NAME.fullmatch(host):
            raise UsageError(f"{host!r} is no name of a host that a command could be given")
        argv = [part.replace("{host}", host) for part in command]
        proc.run(argv, timeout=self._timeout_s, supervised=True)


@contextmanager
def control_of(
    limits: DrainLimits, buildkite: Buildkite, token: str
) -> Iterator[AgentControl | None]:
    """Give what the policy says takes hosts out; None where it says nothing of that."""
    if limits.command:
        yield CommandControl(limits.command, limits.resume_command)
    elif buildkite.organization and token:
        with Transport(
            buildkite.api_url, authorization=f"Bearer {token}", service=AGENTS
        ) as transport:
            yield HttpAgents(transport, buildkite.organization, pause_minutes=limits.pause_minutes)
    else:
        yield None
