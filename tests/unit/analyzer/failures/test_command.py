"""``gauntlet classify``: what it takes, prints and refuses."""

import gzip
import json

import pytest
from click.testing import CliRunner

from gauntlet.analyzer.classify_command import classify
from gauntlet.core.errors import ConfigError, GauntletError, UsageError


def run(*arguments, text=None):
    return CliRunner().invoke(classify, [str(argument) for argument in arguments], input=text)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "job.log"
    path.write_text("collected 2\nFAILED t/a.py::test_b - KeyError: 'x'\nProcess completed\n")
    return path


def test_one_object_per_log_on_a_line_of_its_own(log, tmp_path):
    packed = tmp_path / "job.log.gz"
    packed.write_bytes(gzip.compress(log.read_bytes()))
    done = run(log, packed, "--exit-status", 1, "--json")
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["log"] for each in told] == [str(log), str(packed)]
    first = {key: told[0][key] for key in
             ("class", "retryable", "line", "text", "signature", "wrong_exit_code")}  # fmt: skip
    assert first == {
        "class": "test_regression",
        "retryable": False,
        "line": 2,
        "text": "FAILED t/a.py::test_b - KeyError: 'x'",
        "signature": "pytest_failed: t/a.py::test_b KeyError",
        "wrong_exit_code": False,
    }
    assert 0 < told[0]["confidence"] <= 1


def test_stdin_and_words_for_people():
    done = run("-", text="E: Unable to locate package libfoo\n")
    assert done.stdout.startswith("-:1: dependency (90% sure), running it again will not help\n")


def test_an_empty_log_is_unknown():
    told = json.loads(run("-", "--json", text="").stdout)
    assert (told["class"], told["line"], told["reasons"][-1]) == (
        "unknown",
        None,
        "the log is empty",
    )


def test_what_the_agent_says_comes_first(log):
    told = json.loads(run(log, "--signal-reason", "agent_lost", "--json").stdout)
    assert (told["class"], told["source"], told["retryable"]) == ("infra_agent", "agent", True)


def test_green_logs_are_learnt_and_kept(tmp_path, log):
    green, kept = tmp_path / "green.log", tmp_path / "green.json"
    green.write_text("step 1 done\nvalve open\n")
    red = tmp_path / "red.log"
    red.write_text("step 2 done\nvalve open\nvalve is shut now\n")
    assert run("--green", green, "--save-green", kept).exit_code == 0
    told = json.loads(run(red, "--green", kept, "--json").stdout)
    assert (told["source"], told["line"]) == ("novelty", 3)


def test_the_rules_are_checked_on_demand(tmp_path):
    rules = tmp_path / "own.yaml"
    rules.write_text(
        "schema_version: 1\nrules:\n  - {name: own, class: policy, retryable: no,"
        " pattern: 'gate shut', example: 'gate open', counter_example: 'x'}\n"
    )
    with pytest.raises(ConfigError, match="own: its example does not match"):
        CliRunner().invoke(
            classify, ["--check-rules", "--rules", str(tmp_path)], catch_exceptions=False
        )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param([], "no log to classify", id="nothing"),
        pytest.param(["--save-green", "x"], "without --green", id="nothing-learnt"),
        pytest.param(["a.log", "--stored"], "--stored beside logs", id="both"),
    ],
)
def test_what_is_asked_wrongly_is_refused(arguments, says):
    error = run(*arguments).exception
    assert isinstance(error, UsageError)
    assert says in str(error)


def test_a_log_that_is_not_there_is_named(tmp_path):
    error = run(tmp_path / "gone.log").exception
    assert isinstance(error, GauntletError)
    assert "gone.log" in str(error)
