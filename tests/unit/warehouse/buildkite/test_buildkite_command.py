import contextlib
import json
import signal
import subprocess
import sys
import types
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from click.testing import CliRunner
from fake_buildkite import NOON, Organization, Server, serving
from fake_store import FakeWarehouse

from gauntlet.core.errors import ExternalServiceError, InfrastructureError, UsageError
from gauntlet.warehouse.buildkite.buildkite_command import (
    buildkite,
    cursor_folder,
    parse_time,
    webhook,
)
from gauntlet.warehouse.store import open_store

NAMES = ["--organization", "acme", "--pipeline", "engine"]


@pytest.fixture
def warehouse(monkeypatch):
    """What the commands open as sink."""
    found = FakeWarehouse()
    module = types.ModuleType("gauntlet.warehouse.sink")
    module.open_sink = lambda location: contextlib.nullcontext(found)
    monkeypatch.setitem(sys.modules, "gauntlet.warehouse.sink", module)
    return found


@pytest.fixture
def server(monkeypatch):
    organization = Organization(datetime.now(UTC) - timedelta(hours=1))
    with serving(Server(organization)) as started:
        monkeypatch.setenv("BUILDKITE_API_TOKEN", started.token)
        monkeypatch.setenv("BUILDKITE_AGENT_TOKEN", started.token)
        yield started


def ingest(folder, *options):
    arguments = [*NAMES, "--warehouse", str(folder / "warehouse"), *options]
    return CliRunner().invoke(buildkite, arguments, catch_exceptions=False, standalone_mode=False)


def stored(folder, text):
    with open_store(str(folder / "warehouse")) as store:
        return store.sql(f"SELECT {text}")


def test_builds_are_ingested_and_the_next_run_goes_on(server, tmp_path):
    url = ["--api-url", server.url]
    server.organization.create(jobs=3)
    first = ingest(tmp_path, *url)
    asked = len(server.seen)
    assert "acme/engine: 1 builds, 3 job attempts" in first.output
    server.organization.create(jobs=1)
    second = json.loads(ingest(tmp_path, *url, "--json").output)
    assert (second["open_builds"], second["detached"], second["queues"]) == (2, False, None)
    assert second["requests"] == len(server.seen) - asked == 3
    # What was known already is a duplicate: the other build and its three jobs.
    assert (second["accepted"], second["duplicates"], second["spooled"]) == (2, 4, 0)
    assert stored(tmp_path, "uniqExact(build_id) AS n FROM builds") == [{"n": 2}]
    assert stored(tmp_path, "uniqExact(job_id) AS n FROM job_attempts") == [{"n": 4}]
    assert stored(tmp_path, "count() AS n FROM stale_job_days") == [{"n": 0}]
    assert (tmp_path / "warehouse-spool-cursors" / "buildkite-acme" / "engine.json").exists()


def test_queues_are_sampled_too(server, tmp_path):
    server.metrics = {"agents": {"queues": {"a": {"idle": 1, "busy": 0, "total": 1}}}}
    agent = server.url.replace("/v2/", "/v3/")
    options = ["--api-url", server.url, "--agent-url", agent, "--queues"]
    assert "1 queues sampled" in ingest(tmp_path, *options).output
    assert stored(tmp_path, "queue, agents_idle FROM queue_samples") == [
        {"queue": "a", "agents_idle": 1}
    ]


def test_a_dry_run_asks_nobody(server, warehouse, tmp_path):
    options = ["--api-url", server.url, "--since", "2026-11-01T00:00Z", "--dry-run"]
    until = ["--until", "2026-11-02T12:00:00+01:00"]
    day = "2026-11-01"
    text = ingest(tmp_path, *options, *until).output
    assert text.splitlines() == [
        "builds created from 2026-11-01 00:00 UTC to 2026-11-02 00:00 UTC",
        "builds created from 2026-11-02 00:00 UTC to 2026-11-02 11:00 UTC",
        f"builds created before {day} 00:00 UTC that finished since {day} 00:00 UTC or are at work",
        "0 builds that were open",
    ]
    plan = json.loads(ingest(tmp_path, *options, *until, "--json").output)
    assert len(plan["windows"]) == 2
    assert server.seen == []
    assert warehouse.batches == {}


def test_a_missing_token_is_said(warehouse, tmp_path, monkeypatch):
    monkeypatch.delenv("BUILDKITE_API_TOKEN", raising=False)
    with pytest.raises(UsageError, match="BUILDKITE_API_TOKEN is not set"):
        ingest(tmp_path)


def test_a_service_that_fails_ends_in_its_exit_code(server, warehouse, tmp_path):
    server.faults = [400]
    with pytest.raises(ExternalServiceError) as caught:
        ingest(tmp_path, "--api-url", server.url)
    assert caught.value.exit_code == 7


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("7d", NOON - timedelta(days=7)),
        ("12h", NOON - timedelta(hours=12)),
        ("2026-11-02T13:00+01:00", NOON),
        ("2026-11-02 12:00:00 UTC", NOON),
    ],
)
def test_times_are_instants_or_so_long_ago(text, instant):
    assert parse_time(text, "--since", NOON) == instant


@pytest.mark.parametrize("text", ["2026-11-02T13:00", "2026-11-02", "7", "7w", "-1d", ""])
def test_a_time_that_is_none_is_said_by_option(text):
    with pytest.raises(UsageError, match="--since") as caught:
        parse_time(text, "--since", NOON)
    assert "7d" in caught.value.hint


def test_cursors_lie_beside_the_spool(tmp_path):
    assert cursor_folder("/data/warehouse").parent.as_posix() == "/data"
    assert not str(cursor_folder("https://user:pass@host:8443")).startswith("http")


# Webhooks.

PROGRAM = """
import contextlib, sys, types
from pathlib import Path
folder = Path(sys.argv[1])
def sink(batch):
    (folder / "batch").write_bytes(batch.dump())
@contextlib.contextmanager
def open_sink(location):
    yield sink
    (folder / "closed").touch()
module = types.ModuleType("gauntlet.warehouse.sink")
module.open_sink = open_sink
sys.modules["gauntlet.warehouse.sink"] = module
from gauntlet.warehouse.buildkite.buildkite_command import webhook
webhook(["--port", "0", "--secret-env", "SECRET"])
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_server_takes_events_until_a_signal_and_closes_its_sink(tmp_path, monkeypatch, number):
    monkeypatch.setenv("SECRET", "token")
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            url = json.loads(process.stdout.readline())["listening"]
            with httpx.Client(trust_env=False, timeout=20.0) as client:
                event = {"event": "build.running", "build": {"id": "x"}}
                headers = {"X-Buildkite-Token": "token"}
                assert client.post(url, json=event).status_code == 401
                assert client.post(url, json=event, headers=headers).json()["outcome"] == "stored"
                assert (tmp_path / "batch").read_bytes().startswith(b"{")
                assert client.get(url.replace("buildkite", "health")).json()["counts"]
            process.send_signal(number)
            assert process.wait(20) == 0, process.stderr.read()
            assert (tmp_path / "closed").exists()
        finally:
            process.kill()


def test_a_port_that_is_taken_is_said(warehouse, tmp_path, monkeypatch):
    import socket

    monkeypatch.setenv("SECRET", "token")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with pytest.raises(InfrastructureError, match=f"127.0.0.1:{port}"):
            CliRunner().invoke(
                webhook,
                ["--port", port, "--secret-env", "SECRET", "--warehouse", str(tmp_path / "w")],
                catch_exceptions=False,
                standalone_mode=False,
            )


def test_a_missing_secret_is_said(warehouse, monkeypatch):
    monkeypatch.delenv("SECRET", raising=False)
    with pytest.raises(UsageError, match="SECRET is not set"):
        CliRunner().invoke(
            webhook, ["--secret-env", "SECRET"], catch_exceptions=False, standalone_mode=False
        )
