"""The command before it runs anything: what it refuses, and its plan."""

import json

import pytest
from click.testing import CliRunner
from repositories import Repository

from gauntlet.analyzer.bisect_command import bisect
from gauntlet.analyzer.culprits.harness import number_at
from gauntlet.analyzer.culprits.history import read_range
from gauntlet.analyzer.culprits.reverted import Reverter
from gauntlet.analyzer.culprits.run import Budget
from gauntlet.analyzer.culprits.worktrees import outcome_of
from gauntlet.core.errors import GauntletError, InvalidMeasurementError


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    made = Repository(tmp_path_factory.mktemp("bisect") / "repo")
    for number in range(6):
        made.commit(f"Change {number} (#{number})", a_py=f"x = {number}\n" * 3)
    made.git("branch", "side", "HEAD~3")
    made.git("checkout", "-q", "side")
    made.commit("aside", s_txt="x\n")
    made.git("checkout", "-q", "main")
    return made


def call(repository, *options, command=("true",)):
    arguments = ["--repo", str(repository.path), *options, "--", *command]
    return CliRunner().invoke(bisect, arguments, catch_exceptions=True)


@pytest.mark.parametrize(
    ("options", "said", "hint"),
    [
        pytest.param(("HEAD", "HEAD"), "the same commit", "packages", id="same"),
        pytest.param(("HEAD", "HEAD~2"), "other way round", "older", id="swapped"),
        pytest.param(("side", "main"), "not an ancestor", "merge base is", id="diverged"),
        pytest.param(("nope", "main"), "--good: ", "git fetch", id="unknown"),
        pytest.param(("--help", "main"), "no commit '--help'", "git fetch", id="an-option"),
    ],
)
def test_what_is_no_range_is_said_with_the_remedy(options, said, hint, repository):
    done = call(repository, f"--good={options[0]}", f"--bad={options[1]}")
    assert isinstance(done.exception, GauntletError)
    assert said in done.exception.message
    assert hint in done.exception.hint


@pytest.mark.parametrize(
    ("options", "said"),
    [
        pytest.param(("--flake-rate", "0.9", "--p-fail", "0.5"), "--p-fail", id="rates"),
        pytest.param(("--budget-money", "3"), "--price-per-minute", id="money"),
        pytest.param(("--before", "3"), "--after", id="one-level"),
        pytest.param(("--before", "3", "--after", "4"), "--metric", id="no-metric"),
        pytest.param(
            ("--metric", "x", "--before", "3", "--after", "3"), "no step", id="equal-levels"
        ),
    ],
)
def test_options_that_do_not_go_together(options, said, repository):
    done = call(repository, "--good=HEAD~3", "--bad=HEAD", *options)
    assert isinstance(done.exception, GauntletError)
    assert said in done.exception.message


def test_a_program_that_is_not_there_is_said_before_anything_runs(repository):
    done = call(repository, "--good=HEAD~3", "--bad=HEAD", command=("no-such-program",))
    assert "no program 'no-such-program'" in done.exception.message
    assert "sh -c" in done.exception.hint


def test_a_folder_that_is_no_repository_is_said(tmp_path):
    arguments = ["--repo", str(tmp_path), "--good=a", "--bad=b", "--", "true"]
    done = CliRunner().invoke(bisect, arguments)
    assert "not a git repository" in done.exception.message


def test_the_plan_is_printed_and_nothing_is_run_or_written(repository):
    options = ("--good=HEAD~4", "--bad=HEAD", "--dry-run", "--json")
    done = call(repository, *options, command=("python", "a.py"))
    plan = json.loads(done.stdout)
    assert plan["commits"] == len(plan["prior"]) == 4
    assert plan["first_probes"][:2] == [plan["bad"], plan["good"]]
    assert 2 <= plan["expected_runs"] <= 12
    assert not (repository.path / ".git" / "gauntlet-bisect").exists()
    assert "changed the failing test a.py" in str(plan["prior"][0]["reasons"])
    assert "4 commits under suspicion" in call(repository, *options[:3]).stdout


def test_the_good_end_is_the_first_parent_of_the_oldest(repository):
    found = read_range(repository.path, "HEAD~3", "HEAD")
    assert found.good.title == "Change 2 (#2)"
    assert [commit.pull_request for commit in found.commits] == [3, 4, 5]
    assert found.commits[0].paths == ("a.py",)
    assert found.commits[0].lines_changed == 6


def test_a_commit_is_taken_back_without_a_working_tree(tmp_path):
    made = Repository(tmp_path / "with space")
    made.commit("one", a_txt="1\n", b_txt="1\n")
    culprit = made.commit("two", a_txt="2\n")
    later = made.commit("three", b_txt="2\n")
    over = made.commit("four", a_txt="3\n")
    reverter = Reverter(made.path)
    sha = reverter.without(later, culprit)
    assert made.git("show", f"{sha}:a.txt") == "1"
    assert made.git("show", f"{sha}:b.txt") == "2"
    assert reverter.without(later, culprit) == sha, "the same each time"
    assert reverter.without(over, culprit) is None, "it does not apply"
    assert made.git("status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (0, "passed"),
        (1, "failed"),
        (124, "failed"),
        (125, "unbuildable"),
        (126, "failed"),
        (127, "failed"),
        (134, "failed"),
        (139, "failed"),
        (130, "infra"),
        (137, "infra"),
        (143, "infra"),
    ],
)
def test_exit_statuses_are_outcomes(status, outcome):
    assert outcome_of(status) == outcome


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        pytest.param('{"a": {"b": 2.5}}', "a.b", 2.5, id="nested"),
        pytest.param('hello\n{"a": [1, 3]}\n', "a.1", 3.0, id="last-line"),
    ],
)
def test_a_number_is_taken_from_json(text, key, value):
    assert number_at(text, key) == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("done", "no JSON", id="none"),
        pytest.param('{"b": 1}', "'a' is not in", id="missing"),
        pytest.param('{"a": null}', "found None", id="null"),
        pytest.param('{"a": -1}', "above zero", id="negative"),
        pytest.param('{"a": NaN}', "above zero", id="nan"),
        pytest.param('{"a": true}', "found True", id="flag"),
    ],
)
def test_what_is_no_number_is_said(text, said):
    with pytest.raises(InvalidMeasurementError, match=said):
        number_at(text, "a")


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        (Budget(), ""),
        (Budget(runs=3), "3 runs"),
        (Budget(minutes=2), "2 minutes"),
        (Budget(money=1, price_per_minute=0.5), "1 in money"),
        (Budget(money=2, price_per_minute=0.5), ""),
    ],
)
def test_budgets(budget, said):
    assert said in budget.spent(3, 120.0)
    assert bool(budget.spent(3, 120.0)) == bool(said)
