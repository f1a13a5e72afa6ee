"""A night brings in builds, commits, and the logs of what failed, and classifies them."""

from datetime import timedelta

import pytest
from fake_buildkite import NOON, FakeTicker, Organization, Server, serving
from git_repository import GitRepository
from stores import served_folder

from gauntlet.analyzer.acting.policy import Policy
from gauntlet.analyzer.nightly.bring_in import bring_in
from gauntlet.analyzer.nightly.journal import open_night
from gauntlet.analyzer.nightly.look import classify
from gauntlet.analyzer.nightly.night import Night
from gauntlet.core.clock import utc_now
from gauntlet.core.errors import ExitCode, ExternalServiceError
from gauntlet.services.transport import Patience, Transport
from gauntlet.warehouse.buildkite.api import Pipeline
from gauntlet.warehouse.buildkite.client import HttpBuildkite
from gauntlet.warehouse.buildkite.logs import Wanted, fetch_logs
from gauntlet.warehouse.store import open_store

LOG = "collecting ... \nFAILED tests/test_a.py::test_b - KeyError: 'w'\n1 failed in 0.5s\n"


@pytest.fixture
def organization():
    return Organization(now=utc_now() - timedelta(hours=3))


@pytest.fixture
def server(organization):
    with serving(Server(organization)) as started:
        yield started


def failed_build(organization):
    number = organization.create(jobs=2)
    organization.advance(minutes=1)
    organization.start(number, 0)
    organization.start(number, 1)
    organization.advance(minutes=5)
    organization.finish(number, 0, state="failed")
    organization.finish(number, 1)
    return number, organization.builds[number]["jobs"][0]["id"]


def policy_of(server):
    where = {"organization": "acme", "pipeline": "engine", "api_url": server.url}
    return Policy.model_validate({"buildkite": where})


def night_of(location, policy, **changes):
    date = utc_now().date()
    return Night(date=date, branch="main", location=location, policy=policy, **changes)


def test_builds_commits_and_logs_come_in_once_and_are_classified(
    tmp_path, organization, server, monkeypatch
):
    monkeypatch.setenv("BUILDKITE_API_TOKEN", server.token)
    repository = GitRepository(tmp_path)
    repository.commit("Begin", {"a.py": "x"})
    _, job = failed_build(organization)
    server.logs[job] = LOG
    with served_folder(tmp_path / "warehouse") as location:
        night = night_of(location, policy_of(server), repository=repository.folder)
        with open_night(tmp_path / "nights", night.date, "main") as folder:
            told = bring_in(night, folder)
            assert told.exit_code is ExitCode.OK
            assert told.detail == "1 commits; 1 builds, 2 job attempts, 1 logs"
            asked = len([path for path in server.seen if path.path.endswith("/log")])
            again = bring_in(night, folder)
            assert "0 logs" in again.detail
            assert len([p for p in server.seen if p.path.endswith("/log")]) == asked == 1
            assert classify(night, folder).detail == "1 failure: 1 test_regression"
        with open_store(location) as store:
            (row,) = store.read_only("SELECT failure_class, line FROM job_failures")
    assert row["failure_class"] == "test_regression"
    assert "tests/test_a.py::test_b" in row["line"]


def test_a_token_that_is_not_set_is_said_and_the_rest_comes_in(tmp_path, server, monkeypatch):
    monkeypatch.delenv("BUILDKITE_API_TOKEN", raising=False)
    repository = GitRepository(tmp_path)
    repository.commit("Begin", {"a.py": "x"})
    with served_folder(tmp_path / "warehouse") as location:
        night = night_of(location, policy_of(server), repository=repository.folder)
        with open_night(tmp_path / "nights", night.date, "main") as folder:
            told = bring_in(night, folder)
    assert told.exit_code is ExitCode.USAGE
    assert told.detail.startswith("1 commits; buildkite: the policy names acme/engine")


class Logs:
    """Logs in memory; some cannot be had."""

    def __init__(self, *answers):
        self.answers = list(answers)

    def log(self, pipeline, number, job_id):
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def wanted(count):
    from uuid import UUID

    return [Wanted(job_id=UUID(int=n), build_id=UUID(int=99), number=1) for n in range(count)]


def fetch(tmp_path, *answers):
    kept = []
    pipeline = Pipeline(organization="acme", slug="engine")
    api = Logs(*answers)
    done = fetch_logs(api, pipeline, wanted(len(answers)), tmp_path / "logs", kept.append, NOON)
    return done, kept, api


def test_a_log_that_cannot_be_had_keeps_no_other_back(tmp_path):
    away = ExternalServiceError("503")
    done, kept, _ = fetch(tmp_path, "one\n", away, None, "two\n")
    assert (done.logs, done.gone, len(done.refused)) == (2, 1, 1)
    assert len(kept) == 2
    assert len(list((tmp_path / "logs").iterdir())) == 2


def test_after_five_refusals_in_a_row_the_rest_waits(tmp_path):
    done, _, api = fetch(tmp_path, *[ExternalServiceError("503")] * 5, "never asked\n")
    assert (done.logs, len(done.refused)) == (0, 5)
    assert api.answers == ["never asked\n"]


def test_a_log_of_the_rest_api_is_its_content(organization, server):
    number, job = failed_build(organization)
    server.logs[job] = LOG
    pipeline = Pipeline(organization="acme", slug="engine")
    with Transport(
        server.url,
        authorization=f"Bearer {server.token}",
        patience=Patience(tries=2),
        ticker=FakeTicker(),
    ) as transport:
        api = HttpBuildkite(transport)
        assert api.log(pipeline, number, job) == LOG
        assert api.log(pipeline, number, "5a3c1f7e-0000-4000-8000-000000000009") is None
