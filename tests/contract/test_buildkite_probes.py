"""Probes as Buildkite jobs: against an organisation in memory, and over HTTP that fails."""

import contextlib
import json
import random

import pytest
from fake_buildkite import PIPELINE, FakeBuildkite, FakeTicker, Organization, Server, serving

from gauntlet.analyzer.culprits.buildkite import BuildkiteProbes, BuildkiteTarget
from gauntlet.core.errors import ExternalServiceError, UsageError
from gauntlet.services.limits import Ticker
from gauntlet.services.transport import MaybeDoneError, Patience, Transport
from gauntlet.warehouse.buildkite.client import HttpBuildkite

A, B = "a" * 40, "b" * 40
JOB = "job-1"


class Agents:
    """Run what waits, one look after the other, as time passes."""

    def __init__(self, organization):
        self.organization = organization
        self.ticker = FakeTicker()
        self.plan = {}

    def ends(self, commit, *states):
        """How the job's attempts at a commit end: a state, or an exit status."""
        self.plan[commit] = list(states)

    def sleep(self, seconds):
        self.ticker.sleep(seconds)
        self.organization.advance(seconds=seconds)
        for number, build in self.organization.builds.items():
            for index in self.organization.jobs_in(number, "running"):
                states = self.plan.get(build["commit"], [])
                end = states.pop(0) if states else "passed"
                self._finish(number, index, end)
            for index in self.organization.jobs_in(number, "scheduled"):
                self.organization.start(number, index)

    def _finish(self, number, index, end):
        if isinstance(end, str):
            self.organization.finish(number, index, state=end)
            return
        self.organization.finish(number, index, state="failed")
        self.organization.builds[number]["jobs"][index].update(end)


@pytest.fixture
def organization():
    return Organization()


@pytest.fixture
def agents(organization):
    return Agents(organization)


@pytest.fixture
def server(organization):
    with serving(Server(organization)) as started:
        yield started


@pytest.fixture
def over_http(server):
    with contextlib.ExitStack() as stack:
        transport = Transport(
            server.url,
            authorization=f"Bearer {server.token}",
            patience=Patience(),
            ticker=FakeTicker(),
            jitter=random.Random(1),
        )
        yield HttpBuildkite(stack.enter_context(transport))


@pytest.fixture(params=["in memory", "over HTTP"])
def actions(request, organization):
    if request.param == "in memory":
        return FakeBuildkite(organization)
    return request.getfixturevalue("over_http")


def probes(actions, agents, **settings):
    target = BuildkiteTarget(
        pipeline=PIPELINE, job=JOB, branch="main", search="bisect-7", **settings
    )
    ticker = Ticker(agents.ticker.monotonic, agents.sleep)
    return BuildkiteProbes(actions, target, ticker=ticker)


def test_a_build_of_one_job_is_made_for_every_run(actions, organization, agents):
    agents.ends(A, "failed")
    results = list(probes(actions, agents).probe([A, B, B]))
    assert [result.outcome for result in results] == ["failed", "passed", "passed"]
    assert [result.sha for result in results] == [A, B, B]
    made = list(organization.builds.values())
    assert [[job["step_key"] for job in build["jobs"]] for build in made] == [[JOB]] * 3
    assert len({build["meta_data"]["gauntlet-probe"] for build in made}) == 3
    assert results[0].seconds == 30.0
    assert "buildkite.com" in results[0].evidence


@pytest.mark.parametrize(
    ("end", "outcome"),
    [
        pytest.param("passed", "passed", id="passed"),
        pytest.param({"exit_status": 1}, "failed", id="failed"),
        pytest.param({"exit_status": 125}, "unbuildable", id="125"),
        pytest.param({"exit_status": 139}, "failed", id="crash"),
        pytest.param({"exit_status": 137}, "infra", id="killed"),
        pytest.param(
            {"exit_status": -1, "signal_reason": "agent_stop"}, "infra", id="agent-stopped"
        ),
        pytest.param({"exit_status": None}, "infra", id="agent-lost"),
        pytest.param("timed_out", "failed", id="timed-out"),
        pytest.param("canceled", "infra", id="canceled"),
        pytest.param("expired", "infra", id="expired"),
        pytest.param("broken", "unbuildable", id="dependency-failed"),
    ],
)
def test_states_of_jobs_are_outcomes(end, outcome, organization, agents):
    agents.ends(A, end)
    (result,) = probes(FakeBuildkite(organization), agents).probe([A])
    assert result.outcome == outcome


def existing(organization, commit, *, state="passed", block=False):
    number = organization.create(block=block)
    organization.builds[number]["commit"] = commit
    for index in (0, 1):
        organization.start(number, index)
        organization.finish(number, index, state=state)
    return number


def test_the_job_of_an_existing_build_is_run_again(actions, organization, agents):
    number = existing(organization, A, state="failed")
    agents.ends(A, "passed")
    (result,) = probes(actions, agents, mode="existing").probe([A])
    assert result.outcome == "passed"
    jobs = organization.builds[number]["jobs"]
    assert [job["step_key"] for job in jobs] == ["job-0", "job-1", "job-1"]


def test_a_blocked_job_is_unblocked(actions, organization, agents):
    number = existing(organization, A, block=True)
    agents.ends(A, "failed")
    target = probes(actions, agents, mode="existing")
    object.__setattr__(target._target, "job", "after")
    (result,) = target.probe([A])
    assert result.outcome == "failed"
    assert organization.builds[number]["jobs"][-2]["state"] == "unblocked"


def test_two_runs_of_one_existing_job_come_one_after_the_other(actions, organization, agents):
    number = existing(organization, A, state="failed")
    agents.ends(A, "passed", "failed")
    results = list(probes(actions, agents, mode="existing").probe([A, A]))
    assert [result.outcome for result in results] == ["passed", "failed"]
    jobs = organization.builds[number]["jobs"]
    assert [job["step_key"] for job in jobs] == ["job-0", "job-1", "job-1", "job-1"]


def test_every_shard_of_an_existing_job_is_run_again(organization, agents):
    number = existing(organization, A)
    build = organization.builds[number]
    for index, job in enumerate(build["jobs"]):
        job.update(step_key=JOB, parallel_group_index=index, parallel_group_total=2)
    agents.ends(A, "passed", "failed")
    (result,) = probes(FakeBuildkite(organization), agents, mode="existing").probe([A])
    assert result.outcome == "failed"
    assert len(build["jobs"]) == 4


@pytest.mark.parametrize("faults", [[None, None, "done, and no answer"], [None, None, "reset"]])
@pytest.mark.parametrize("block", [False, True], ids=["retry", "unblock"])
def test_a_change_whose_answer_was_lost_is_made_once(
    faults, block, server, over_http, organization, agents
):
    number = existing(organization, A, block=block)
    agents.ends(A, "failed")
    target = probes(over_http, agents, mode="existing")
    object.__setattr__(target._target, "job", "after" if block else JOB)
    server.faults = faults[1:]
    (result,) = target.probe([A])
    assert result.outcome == "failed"
    puts = [request for request in server.seen if request.method == "PUT"]
    assert len(puts) == (1 if "done" in faults[2] else 2)
    keys = [job.get("step_key") for job in organization.builds[number]["jobs"]]
    assert keys.count("after" if block else JOB) == (1 if block else 2)


def test_results_come_as_jobs_end(organization, agents):
    probing = probes(FakeBuildkite(organization), agents).probe([A, B])
    agents.ends(A, "passed")
    late = organization.finish

    def finish(number, index, *, state="passed"):
        if organization.builds[number]["commit"] == A and agents.ticker.now < 1200:
            return
        late(number, index, state=state)

    organization.finish = finish
    first = next(probing)
    assert (first.sha, agents.ticker.now < 1200) == (B, True)
    assert next(probing).sha == A


def test_builds_of_a_process_that_was_killed_are_taken_up_again(actions, organization, agents):
    first = BuildkiteProbes(
        actions,
        BuildkiteTarget(pipeline=PIPELINE, job=JOB, branch="main", search="s"),
        ticker=Ticker(agents.ticker.monotonic, agents.sleep),
        known={},
    )
    first._start(A)
    agents.ends(A, "failed", "passed")
    again = BuildkiteProbes(
        actions, first._target, ticker=Ticker(agents.ticker.monotonic, agents.sleep), known={}
    )
    assert [each.outcome for each in again.probe([A])] == ["failed"]
    assert len(organization.builds) == 1
    later = BuildkiteProbes(
        actions, first._target, ticker=Ticker(agents.ticker.monotonic, agents.sleep), known={A: 1}
    )
    assert [each.outcome for each in later.probe([A])] == ["passed"]
    assert len(organization.builds) == 2


def test_a_commit_without_the_job_counts_as_passed_where_it_was_born_red(organization, agents):
    organization.create()
    organization.builds[1]["commit"] = A
    wanted = {"mode": "existing", "absent_passes": True}
    target = probes(FakeBuildkite(organization), agents, **wanted)
    object.__setattr__(target._target, "job", "new-job")
    (result,) = target.probe([A])
    assert result.outcome == "passed"
    (unknown,) = target.probe([B])
    assert unknown.outcome == "unbuildable", "without a build nobody knows"


def test_tests_are_named_to_the_pipeline(organization, agents):
    list(probes(FakeBuildkite(organization), agents, tests=("t::a", "t::b")).probe([A]))
    assert organization.builds[1]["env"]["GAUNTLET_ONLY_TESTS"] == "t::a\nt::b"


def test_a_commit_without_a_build_of_the_job_can_never_tell(actions, agents):
    (result,) = probes(actions, agents, mode="existing").probe([A])
    assert (result.outcome, result.evidence) == (
        "unbuildable",
        f"no build of this commit has the job {JOB}",
    )


def test_waiting_is_bounded(organization, agents):
    agents.sleep = agents.ticker.sleep
    (result,) = probes(FakeBuildkite(organization), agents, wait_s=600.0).probe([A])
    assert result.outcome == "infra"
    assert "no end after 600 s" in result.evidence


def test_a_build_that_was_made_without_an_answer_is_found_and_not_made_again(
    server, over_http, organization, agents
):
    server.faults = ["done, and no answer"]
    (result,) = probes(over_http, agents).probe([A])
    assert result.outcome == "passed"
    assert len(organization.builds) == 1


@pytest.mark.parametrize("fault", [500, "reset", "garbage", "cut"])
def test_what_may_have_been_done_is_not_asked_for_again(
    fault, server, over_http, organization, agents
):
    server.faults = [fault]
    with pytest.raises(MaybeDoneError, match="POST .+ is not known"):
        list(probes(over_http, agents).probe([A]))
    assert [request.method for request in server.seen] == ["POST", "GET"]
    assert organization.builds == {}


def test_what_was_surely_not_done_is_asked_for_again(server, over_http, organization, agents):
    server.faults = [429, 429]
    list(probes(over_http, agents).probe([A]))
    assert len(organization.builds) == 1


def test_a_token_that_may_not_write_is_said(server, over_http, agents):
    server.faults = [403]
    with pytest.raises(UsageError, match="403") as caught:
        list(probes(over_http, agents).probe([A]))
    assert "write_builds" in caught.value.hint


def test_documented_builds_are_read(shared, agents):
    """The payloads of Buildkite's own documentation."""
    folder = shared / "data" / "samples" / "buildkite"
    build = json.loads((folder / "rest_api_builds.1.json").read_text())

    class Documented:
        def create(self, pipeline, new):
            return build

        def build(self, pipeline, number):
            return build

    target = BuildkiteTarget(pipeline=PIPELINE, job="rspec", branch="main", search="x")
    ticker = Ticker(agents.ticker.monotonic, agents.sleep)
    (result,) = BuildkiteProbes(Documented(), target, ticker=ticker).probe([A])
    assert result.outcome == "passed"


def test_a_build_that_cannot_be_read_names_the_key(agents):
    class Odd:
        def create(self, pipeline, new):
            return {"number": "seven", "state": "passed"}

    with pytest.raises(ExternalServiceError, match="number"):
        list(probes(Odd(), agents).probe([A]))
