"""The part of the policy that says how culprits are searched by night."""

import pytest

from gauntlet.analyzer.acting.policy import Policy, load_policy
from gauntlet.analyzer.culprits.seen import Target
from gauntlet.analyzer.culprits.ways import CommandWay, filled, way_of
from gauntlet.core.errors import ConfigError, UsageError

TARGET = Target(job="kernels", tests=("t.py::a[x y]", "t.py::b"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("probes: {via: bazel}", "probes.via", id="way"),
        pytest.param("probes: {via: command}", "{tests} or {job}", id="no-command"),
        pytest.param("probes: {via: command, command: [pytest]}", "{tests} or {job}", id="place"),
        pytest.param("probes: {money_per_night: 3}", "price_per_minute", id="money"),
        pytest.param("probes: {runs_per_incident: 0}", "runs_per_incident", id="no-run"),
        pytest.param("probes: {at_once: 99}", "at_once", id="too-many"),
        pytest.param("probes: {runs: 3}", "runs", id="unknown-key"),
    ],
)
def test_mistakes_are_named(text, said, tmp_path):
    file = tmp_path / "policy.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_policy(file)
    assert said in caught.value.message
    assert "policy.yaml" in caught.value.message


def test_without_a_policy_nothing_is_run(tmp_path):
    assert way_of(load_policy(None), tmp_path) is None


def test_tests_and_job_are_filled_in():
    assert filled(("pytest", "{tests}"), TARGET) == ("pytest", "t.py::a[x y]", "t.py::b")
    shell = ("sh", "-c", "run {job}: pytest {tests} {other}")
    assert filled(shell, TARGET)[2] == "run kernels: pytest 't.py::a[x y]' t.py::b {other}"


def test_the_command_line_goes_before_the_policy(tmp_path):
    rules = Policy.model_validate(
        {"probes": {"via": "command", "command": ["pytest", "{tests}"], "timeout_minutes": 2}}
    )
    way = way_of(rules, tmp_path)
    assert isinstance(way, CommandWay)
    assert (way.template, way.timeout_s) == (("pytest", "{tests}"), 120.0)
    assert way_of(rules, tmp_path, command=("make", "{job}")).template == ("make", "{job}")


def test_a_command_that_needs_tests_is_refused_where_none_is_known(tmp_path):
    way = CommandWay(repository=tmp_path, template=("true", "{tests}"))
    assert "no test of kernels" in way.refusal(Target(job="kernels"), ())
    nowhere = CommandWay(repository=tmp_path, template=("no-such-program",))
    assert "no program 'no-such-program'" in nowhere.refusal(TARGET, ())
    with pytest.raises(UsageError, match="needs a repository"):
        way_of(Policy(), None, command=("true",))
