"""The same suite against an organisation in memory and against one behind HTTP that fails."""

import contextlib
import random
import threading
from datetime import timedelta

import pytest
from fake_buildkite import NOON, PIPELINE, FakeBuildkite, FakeTicker, Organization, Server, serving
from fake_store import FakeWarehouse

from gauntlet.core.errors import ExternalServiceError, UsageError
from gauntlet.services.limits import RateLimiter, Ticker
from gauntlet.services.transport import Patience, Transport
from gauntlet.warehouse.buildkite.api import BuildQuery, Pipeline
from gauntlet.warehouse.buildkite.client import HttpAgentMetrics, HttpBuildkite
from gauntlet.warehouse.buildkite.cursor import CursorFolder
from gauntlet.warehouse.buildkite.queues import queue_samples
from gauntlet.warehouse.buildkite.sync import SyncRequest, sync

MINUTE = timedelta(minutes=1)


@pytest.fixture
def organization():
    return Organization()


@pytest.fixture
def server(organization):
    with serving(Server(organization)) as started:
        yield started


@pytest.fixture
def ticker():
    return FakeTicker()


@pytest.fixture
def connect(server, ticker):
    """Make a transport to the server; time passes on the fake clock alone."""
    with contextlib.ExitStack() as stack:

        def make(url=server.url, *, token=server.token, **patience):
            transport = Transport(
                url,
                authorization=f"Bearer {token}",
                patience=Patience(**patience),
                ticker=ticker,
                jitter=random.Random(1),
            )
            return stack.enter_context(transport)

        yield make


@pytest.fixture(params=["in memory", "over HTTP"])
def api(request, organization):
    if request.param == "in memory":
        return FakeBuildkite(organization, per_page=3)
    return HttpBuildkite(request.getfixturevalue("connect")(), per_page=3)


def numbers(api, **query):
    return [b["number"] for page in api.builds(PIPELINE, BuildQuery(**query)) for b in page.builds]


# Both.


def test_builds_come_newest_first_in_pages(api, organization):
    for _ in range(7):
        organization.create()
        organization.advance(minutes=1)
    pages = list(api.builds(PIPELINE, BuildQuery()))
    assert [[b["number"] for b in page.builds] for page in pages] == [[7, 6, 5], [4, 3, 2], [1]]
    assert [page.is_last for page in pages] == [False, False, True]


def test_an_empty_listing_is_one_empty_page(api):
    (page,) = api.builds(PIPELINE, BuildQuery())
    assert (page.builds, page.is_last) == ((), True)


def test_a_window_holds_its_start_and_not_its_end(api, organization):
    for _ in range(4):
        organization.create()
        organization.advance(minutes=1)
    assert numbers(api, created_from=NOON + MINUTE, created_to=NOON + 3 * MINUTE) == [3, 2]


def test_builds_are_found_by_their_end_and_state(api, organization):
    for index in range(5):
        number = organization.create(jobs=1)
        organization.advance(minutes=1)
        if index < 4:
            organization.start(number, 0)
        if index < 3:
            organization.finish(number, 0)
    assert numbers(api, finished_from=NOON + 2 * MINUTE) == [3, 2]
    assert numbers(api, states=("running", "scheduled")) == [5, 4]
    assert numbers(api, states=("canceling",)) == []


def test_every_attempt_of_a_job_is_there(api, organization):
    number = organization.create(jobs=1)
    organization.start(number, 0)
    organization.finish(number, 0, state="failed")
    organization.retry(number, 0)
    (page,) = api.builds(PIPELINE, BuildQuery())
    one = api.build(PIPELINE, number)
    assert [job["retried"] for job in page.builds[0]["jobs"]] == [True, False]
    assert one == page.builds[0]


def test_a_build_that_is_not_there_is_none(api):
    assert api.build(PIPELINE, 7) is None


def test_a_listing_changes_while_it_is_read(api, organization):
    """Which is why a sync does not page by position."""
    for _ in range(6):
        organization.create()
        organization.advance(minutes=1)
    pages = api.builds(PIPELINE, BuildQuery(states=("scheduled",)))
    first = next(pages)
    organization.skip(6)
    second = next(pages)
    assert [b["number"] for b in first.builds] == [6, 5, 4]
    assert [b["number"] for b in second.builds] == [2, 1]


def test_a_sync_brings_everything_into_the_warehouse(api, organization, tmp_path):
    chance = random.Random(5)
    warehouse = FakeWarehouse()
    cursors = CursorFolder(tmp_path)
    for _ in range(4):
        for _ in range(15):
            organization.tick(chance)
        organization.advance(seconds=1)
        request = SyncRequest(pipeline=PIPELINE)
        sync(request, api, warehouse, cursors, lambda: organization.now)
    stored = {row["number"]: row["state"] for row in warehouse.rows("builds")}
    shown = {number: build["state"] for number, build in organization.builds.items()}
    assert {number: stored[number] for number in shown} == shown
    attempts = {row["job_id"] for row in warehouse.rows("job_attempts")}
    jobs = [job for build in organization.builds.values() for job in build["jobs"]]
    assert {job["id"] for job in jobs if job["type"] == "script"} <= attempts


# Over HTTP alone.


@pytest.mark.parametrize("fault", [429, 500, 502, 503, "reset", "garbage", "cut"])
def test_what_passes_is_tried_again(fault, server, connect, ticker, organization):
    organization.create()
    server.faults = [fault, fault]
    assert numbers(HttpBuildkite(connect())) == [1]
    assert len(server.seen) == 3
    if fault == 429:
        assert ticker.slept == [42.0, 42.0]
    else:
        first, second = ticker.slept
        assert 0.25 <= first <= 0.5 <= second <= 1.0


def test_a_slow_answer_is_cut_and_asked_for_again(server, connect, organization):
    organization.create()
    server.faults = ["drip"]
    assert numbers(HttpBuildkite(connect(request_s=0.2))) == [1]
    assert len(server.seen) == 2


@pytest.mark.parametrize("fault", [503, "reset", "garbage", "cut"])
def test_tries_are_bounded(fault, server, connect):
    server.faults = [fault] * 10
    with pytest.raises(ExternalServiceError, match=r"builds: .+ \(3 tries\)") as caught:
        numbers(HttpBuildkite(connect(tries=3)))
    assert len(server.seen) == 3
    assert caught.value.exit_code == 7
    assert "it continues" in caught.value.hint


def test_the_time_for_everything_is_bounded(server, connect, ticker):
    server.faults = [429] * 10
    start = ticker.now
    with pytest.raises(ExternalServiceError, match="gave up after 100 s: 429"):
        numbers(HttpBuildkite(connect(total_s=100.0)))
    assert ticker.now - start == 84.0, "a wait that would end too late is not begun"


@pytest.mark.parametrize(
    ("status", "kind", "hint"),
    [
        pytest.param(401, UsageError, "make a new one", id="401"),
        pytest.param(403, UsageError, "read_builds", id="403"),
        pytest.param(404, UsageError, "slugs", id="404"),
        pytest.param(400, ExternalServiceError, "address", id="400"),
        pytest.param(302, ExternalServiceError, "address", id="302"),
    ],
)
def test_a_refusal_is_said_at_once_with_a_remedy(status, kind, hint, server, connect):
    server.faults = [status]
    with pytest.raises(kind, match=f"{status} no") as caught:
        numbers(HttpBuildkite(connect()))
    assert hint in caught.value.hint
    assert len(server.seen) == 1


def test_a_wrong_token_is_said_and_not_shown(connect):
    with pytest.raises(UsageError, match="401 Authentication required") as caught:
        numbers(HttpBuildkite(connect(token="wrong-token")))
    assert "wrong-token" not in f"{caught.value} {caught.value.hint}"


def test_an_unknown_pipeline_is_said(connect):
    api = HttpBuildkite(connect())
    with pytest.raises(UsageError, match="404 No pipeline found"):
        next(api.builds(Pipeline(organization="acme", slug="other"), BuildQuery()))


def test_nobody_there(connect):
    with pytest.raises(ExternalServiceError, match="ConnectError"):
        numbers(HttpBuildkite(connect("http://127.0.0.1:1/v2/")))


@pytest.mark.parametrize("url", ["api.buildkite.com", "ftp://x/", "http://", "http://x:port/"])
def test_what_is_no_url_is_said(url, connect):
    with pytest.raises(UsageError, match="no URL"):
        connect(url)


def test_an_answer_that_is_too_large_is_refused(server, connect, organization):
    organization.create()
    with pytest.raises(ExternalServiceError, match="larger than 100 bytes"):
        numbers(HttpBuildkite(connect(answer_bytes=100)))


def test_an_answer_of_another_kind_is_refused(server, connect):
    def other(_):
        from aiohttp import web

        return web.json_response({"hello": "world"})

    server.faults = [other]
    with pytest.raises(ExternalServiceError, match="expected a list of builds, found dict"):
        numbers(HttpBuildkite(connect()))


def test_the_next_page_is_asked_of_the_same_address(server, connect, organization):
    """The link names the true API; the token stays with whom it was given for."""
    for _ in range(5):
        organization.create()
    assert len(numbers(HttpBuildkite(connect(), per_page=2))) == 5
    assert [request.query.get("page") for request in server.seen] == [None, "2", "3"]
    assert all(request.query["include_retried_jobs"] == "true" for request in server.seen)


def test_a_used_up_window_of_the_service_is_waited_for(server, connect, ticker):
    server.headers = {"RateLimit-Remaining": "0", "RateLimit-Reset": "17"}
    api = HttpBuildkite(connect())
    numbers(api)
    assert ticker.slept == []
    numbers(api)
    assert ticker.slept == [17.0]


def test_slugs_are_quoted(server, connect):
    with pytest.raises(UsageError):
        next(
            HttpBuildkite(connect()).builds(Pipeline(organization="a/../b", slug="c"), BuildQuery())
        )
    assert "a%2F..%2Fb" in server.seen[0].raw_path


# Rates.


def test_450_requests_take_two_minutes():
    ticker = FakeTicker()
    limiter = RateLimiter(ticker=ticker)
    start, times = ticker.now, []
    for _ in range(450):
        ticker.sleep(limiter.wait_s())
        limiter.count()
        times.append(ticker.now - start)
    assert 120.0 <= times[-1] < 121.0
    for first in times:
        assert sum(first <= t < first + 60 for t in times) <= 200


def test_a_transport_keeps_to_the_rate(server, organization):
    ticker = FakeTicker()
    limiter = RateLimiter(3, ticker=ticker)
    with Transport(
        server.url, authorization="Bearer secret-token", limiter=limiter, ticker=ticker
    ) as transport:
        api = HttpBuildkite(transport)
        for _ in range(7):
            numbers(api)
    assert ticker.slept == [60.0, 60.0]
    assert transport.requests == 7


# Queues.


def test_queues_are_sampled(server, connect):
    server.metrics = {
        "agents": {"queues": {"gpu_1": {"idle": 1, "busy": 2, "total": 3}}},
        "jobs": {
            "queues": {
                "gpu_1": {"scheduled": 5, "running": 2, "waiting": 9, "total": 16},
                "gpu_9": {"scheduled": 4, "running": 0, "waiting": 0, "total": 4},
            }
        },
    }
    url = server.url.replace("/v2/", "/v3/")
    metrics = HttpAgentMetrics(connect(url)).read()
    first, second = queue_samples(metrics, origin=url, at=NOON)
    assert first.model_dump() == {
        "at": NOON,
        "queue": "gpu_1",
        "agents_total": 3,
        "agents_busy": 2,
        "agents_idle": 1,
        "jobs_waiting": 5,
        "jobs_running": 2,
        "oldest_wait_s": None,
    }
    assert (second.queue, second.jobs_waiting, second.agents_total) == ("gpu_9", 4, None)


# All of it.


def test_a_sync_over_a_service_that_fails_all_the_time_misses_nothing(
    server, organization, tmp_path
):
    chance = random.Random(11)
    guard = threading.Lock()
    faults = [None] * 6 + [429, 500, "reset", "garbage", "cut", 503]

    class Faults(list):
        """Fails every other request, and lets something happen before it."""

        def __bool__(self):
            return True

        def pop(self, _):
            with guard:
                if chance.random() < 0.6:
                    organization.tick(chance)
                return chance.choice(faults)

    ticker = FakeTicker()
    warehouse, cursors = FakeWarehouse(), CursorFolder(tmp_path)
    request = SyncRequest(pipeline=PIPELINE)
    organization.create()

    def one_round(**patience):
        with Transport(
            server.url,
            authorization="Bearer secret-token",
            patience=Patience(**patience),
            ticker=Ticker(ticker.monotonic, ticker.sleep),
        ) as transport:
            api = HttpBuildkite(transport, per_page=2)
            sync(request, api, warehouse, cursors, lambda: organization.now)

    gave_up = 0
    for _ in range(10):
        server.faults = Faults()
        organization.advance(seconds=1)
        try:
            one_round(tries=3)
        except ExternalServiceError:
            gave_up += 1
    assert gave_up, "some rounds are cut short"
    server.faults = []
    organization.advance(seconds=1)
    one_round()
    stored = {row["number"]: row["state"] for row in warehouse.rows("builds")}
    shown = {number: build["state"] for number, build in organization.builds.items()}
    assert len(shown) > 5
    assert {number: stored[number] for number in shown} == shown
    states = {row["job_id"]: row["state"] for row in warehouse.rows("job_attempts")}
    for build in organization.builds.values():
        for job in build["jobs"]:
            if job["type"] == "script":
                assert states[job["id"]] == job["state"]
