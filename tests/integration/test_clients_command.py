"""``gauntlet bench clients`` from the command line on."""

import json

import click
import pytest
from click.testing import CliRunner

from gauntlet.core.errors import InfrastructureError, UsageError
from gauntlet.harness.clients.command import clients

pytestmark = pytest.mark.alone


@click.group()
def bench():
    """As the command is mounted."""


bench.add_command(clients)
SMALL = ["--concurrency", "2", "--requests", "4", "--output-tokens", "4", "--client", "own"]
QUICK = ["--known-timing", "--ttft-ms", "5", "--itl-ms", "1"]


def invoke(*arguments):
    return CliRunner().invoke(bench, ["clients", *arguments], standalone_mode=False)


def test_the_table_shows_the_error_against_the_truth():
    done = invoke(*QUICK, *SMALL)
    assert done.exception is None
    assert done.return_value == 0
    assert "errors against what the server did" in done.stdout
    assert "own" in done.stdout
    assert "repetition 1: own ok" in done.stderr


def test_json_has_one_object_for_each_run(tmp_path):
    done = invoke(*QUICK, *SMALL, "--repetitions", "2", "--json", "--out", str(tmp_path / "out"))
    runs = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(run["client"], run["status"], run["repetition"]) for run in runs] == [
        ("own", "ok", 0),
        ("own", "ok", 1),
    ]
    assert {run["truth"]["requests"] for run in runs} == {4}
    assert runs[0]["seed"] != runs[1]["seed"]
    assert (tmp_path / "out" / "0-1-own" / "own.json").exists()


def test_clients_that_are_not_there_are_rows_too(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    cache = [*QUICK[1:], "--known-timing", "--concurrency", "2", "--requests", "4"]
    with_path = invoke(*QUICK, *SMALL)
    assert with_path.return_value == 0, "the server was compiled before, or this fails"
    done = invoke(*cache, "--output-tokens", "4")
    assert done.return_value == 0, "absent is no failure"
    for name in ("vllm-rs", "vllm", "aiperf", "guidellm"):
        line = next(text for text in done.stdout.splitlines() if text.startswith(f"{name} "))
        assert "not installed: " in line


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ([*SMALL], UsageError, "either --base-url URL or --known-timing"),
        ([*SMALL, "--base-url", "http://x", "--known-timing"], UsageError, "either --base-url"),
        ([*QUICK], UsageError, "concurrency or a rate"),
        ([*QUICK, "--concurrency", "2", "--client", "owl"], UsageError, "did you mean 'own'"),
        ([*QUICK, "--concurrency", "1,x"], click.BadParameter, "1,x is not a list of whole"),
        ([*QUICK, "--concurrency", "0"], click.BadParameter, "0 is not a list of whole"),
        ([*SMALL, "--base-url", "http://127.0.0.1:1"], InfrastructureError, "does not tell a"),
    ],
    ids=["no server", "two servers", "no load", "no client", "no number", "zero", "nobody there"],
)
def test_mistakes_are_told_before_anything_is_measured(arguments, error, said):
    done = invoke(*arguments)
    assert isinstance(done.exception, error)
    assert said in str(done.exception)
