"""Agents of a fleet in memory, behind the port."""

from dataclasses import replace

from gauntlet.core.errors import ExternalServiceError
from gauntlet.services.transport import MaybeDoneError
from gauntlet.warehouse.buildkite.api import Agent


class FakeAgents:
    """Agents by id. ``broken`` makes every answer an error; ``unsure`` does a change and loses the
    answer."""

    def __init__(self, *hosts, each=2):
        names = [(host, n) for host in hosts for n in range(each)]
        self.agents = {
            f"{host}-id-{n}": Agent(agent_id=f"{host}-id-{n}", name=f"{host}-{n}", host=host)
            for host, n in names
        }
        self.notes = []
        self.broken = False
        self.unsure = False

    def agents_of(self, host):
        if self.broken:
            raise ExternalServiceError("agents: 502 Bad Gateway")
        return tuple(agent for agent in self.agents.values() if agent.host == host)

    def pause(self, agent, note):
        self._change(agent, paused=True)
        self.notes.append(note)

    def resume(self, agent):
        self._change(agent, paused=False)

    def paused(self):
        return sorted(agent.name for agent in self.agents.values() if agent.paused)

    def _change(self, agent, *, paused):
        if self.broken:
            raise ExternalServiceError("agents: 502 Bad Gateway")
        self.agents[agent.agent_id] = replace(agent, paused=paused)
        if self.unsure:
            raise MaybeDoneError("PUT: the answer was lost: whether it was done is not known")
