"""The same suite against agents in memory and against Buildkite's API as it is documented."""

import contextlib
import random
from dataclasses import replace

import pytest
from aiohttp import web
from fake_agents import FakeAgents
from fake_buildkite import FakeTicker, serving

from gauntlet.analyzer.acting.policy import DrainLimits
from gauntlet.analyzer.alerts.control import control_of
from gauntlet.core.errors import ExternalServiceError, UsageError
from gauntlet.services.settings import Buildkite
from gauntlet.services.transport import MaybeDoneError, Patience, Transport
from gauntlet.warehouse.buildkite.client import AGENTS, HttpAgents


class AgentServer:
    """Buildkite's agents; answers as its documentation says. ``faults`` are statuses, or a reset
    after the change was made."""

    token = "secret-token"

    def __init__(self, fleet):
        self.fleet = fleet
        self.faults = []
        self.bodies = []
        self.url = ""
        self.page = 2
        self.filters = True

    def application(self):
        app = web.Application()
        path = "/v2/organizations/acme/agents"
        app.router.add_get(path, self._list)
        app.router.add_put(path + "/{agent}/{what}", self._change)
        return app

    async def _list(self, request):
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return web.json_response({"message": "Authentication required"}, status=401)
        if self.faults:
            return web.json_response({"message": "no"}, status=self.faults.pop(0))
        host, page = request.query.get("hostname"), int(request.query.get("page", 1))
        agents = list(self.fleet.agents.values())
        found = [a for a in agents if a.host == host] if self.filters else agents
        shown = found[(page - 1) * self.page : page * self.page]
        headers = {}
        if page * self.page < len(found):
            following = request.url.update_query(page=page + 1)
            headers["Link"] = f'<{following}>; rel="next"'
        return web.json_response([self._shown(agent) for agent in shown], headers=headers)

    def _shown(self, agent):
        return {
            "id": agent.agent_id,
            "graphql_id": "QWdlbnQtLS0x",
            "url": f"https://api.buildkite.com/v2/organizations/acme/agents/{agent.agent_id}",
            "name": agent.name,
            "connection_state": "connected",
            "hostname": agent.host,
            "version": "3.98.0",
            "job": None,
            "priority": None,
            "paused": agent.paused,
            "meta_data": ["queue=l4-1"],
        }

    async def _change(self, request):
        fault = self.faults.pop(0) if self.faults else None
        if isinstance(fault, int):
            return web.json_response({"message": "no"}, status=fault)
        agent = self.fleet.agents.get(request.match_info["agent"])
        what = request.match_info["what"]
        if agent is None:
            return web.json_response({"message": "No agent found"}, status=404)
        self.bodies.append((what, await request.json()))
        self.fleet.agents[agent.agent_id] = replace(agent, paused=what == "pause")
        if fault == "reset":
            request.transport.abort()
        return web.Response(status=204)


@pytest.fixture
def fleet():
    return FakeAgents("h1", "h2", each=3)


@pytest.fixture
def server(fleet):
    with serving(AgentServer(fleet)) as started:
        yield started


@pytest.fixture
def over_http(server):
    with contextlib.ExitStack() as stack:
        transport = Transport(
            server.url,
            authorization=f"Bearer {server.token}",
            service=AGENTS,
            patience=Patience(tries=3),
            ticker=FakeTicker(),
            jitter=random.Random(1),
        )
        yield HttpAgents(stack.enter_context(transport), "acme", pause_minutes=90)


@pytest.fixture(params=["in memory", "over HTTP"])
def control(request, fleet):
    return fleet if request.param == "in memory" else request.getfixturevalue("over_http")


def test_all_agents_of_a_host_are_found_over_pages(control):
    assert sorted(each.name for each in control.agents_of("h1")) == ["h1-0", "h1-1", "h1-2"]
    assert control.agents_of("nobody") == ()


def test_an_agent_is_paused_and_resumed_and_shows_it(control, fleet):
    agent = control.agents_of("h1")[1]
    control.pause(agent, "its disk")
    assert fleet.paused() == ["h1-1"]
    assert [each.paused for each in control.agents_of("h1")] == [False, True, False]
    control.resume(agent)
    assert fleet.paused() == []


def test_a_pause_says_why_and_for_how_long(over_http, server):
    over_http.pause(over_http.agents_of("h1")[0], "its disk")
    assert server.bodies == [("pause", {"note": "its disk", "timeout_in_minutes": 90})]


def test_a_filter_that_is_ignored_does_not_pause_the_fleet(over_http, server):
    server.filters = False
    assert {each.host for each in over_http.agents_of("h1")} == {"h1"}


def test_a_change_whose_answer_is_lost_is_not_repeated(over_http, server, fleet):
    agent = over_http.agents_of("h1")[0]
    server.faults = ["reset"]
    with pytest.raises(MaybeDoneError):
        over_http.pause(agent, "its disk")
    assert (len(server.bodies), fleet.paused()) == (1, ["h1-0"])


def test_too_many_requests_are_waited_for(over_http, server, fleet):
    agent = over_http.agents_of("h1")[0]
    server.faults = [429]
    over_http.pause(agent, "its disk")
    assert fleet.paused() == ["h1-0"]


def test_a_token_that_may_not_is_told_which_scope_it_needs(over_http, server):
    agent = over_http.agents_of("h1")[0]
    server.faults = [403]
    with pytest.raises(UsageError) as caught:
        over_http.pause(agent, "its disk")
    assert "write_agents" in caught.value.hint


def test_a_policy_connects_to_buildkite_with_its_token(server, fleet):
    where = Buildkite(organization="acme", api_url=server.url)
    with control_of(DrainLimits(), where, server.token) as control:
        control.pause(control.agents_of("h2")[0], "its disk")
    assert fleet.paused() == ["h2-0"]
    with control_of(DrainLimits(), where, "") as control:
        assert control is None


def test_a_service_that_is_down_is_an_error_of_its_own(over_http, server):
    server.faults = [502, 502, 502]
    with pytest.raises(ExternalServiceError, match="502"):
        over_http.agents_of("h1")
