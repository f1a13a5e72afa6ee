"""``gauntlet analyze compare``: what it takes, and real repetitions of vLLM on an H200."""

import json
from itertools import permutations

import pytest
from click.testing import CliRunner

from gauntlet.analyzer.compare_command import compare
from gauntlet.core.errors import NotQualifiedError, UsageError


def run(*arguments):
    return CliRunner().invoke(compare, [str(argument) for argument in arguments])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param([], "nothing to compare", id="nothing"),
        pytest.param(["a", "b", "c"], "3 arguments", id="three"),
        pytest.param(["--baseline", "x"], "--baseline without --candidate", id="half"),
        pytest.param(["a", "--baseline", "x", "--candidate", "y"], "'a' beside", id="both-ways"),
        pytest.param(
            ["run1", "--where", "recipe=r"], "--where with the run 'run1'", id="option-of-selectors"
        ),
        pytest.param(["rum:1", "run:2"], "did you mean 'run'", id="unknown-kind"),
    ],
)
def test_what_is_asked_wrongly_is_refused_with_what_is_allowed(arguments, says):
    error = run(*arguments).exception
    assert isinstance(error, UsageError)
    assert says in str(error)


@pytest.fixture
def h200(shared):
    return shared / "data/h200"


def repetitions(h200, number):
    return ",".join(str(path) for path in sorted(h200.glob(f"*_r{number}-c*.json")))


@pytest.mark.parametrize(("one", "other"), list(permutations((1, 2, 3), 2)))
def test_repetitions_of_one_server_are_the_same(h200, one, other):
    done = run(repetitions(h200, one), repetitions(h200, other), "--json")
    assert done.exception is None
    said = json.loads(done.stdout)
    assert said["verdict"] == "same"
    assert not {v["verdict"] for v in said["verdicts"]} & {"worse", "better"}
    demoted = [v for v in said["verdicts"] if v["demoted"]]
    assert f"({len(demoted)} more need interleaved sides to be judged)" in said["reason"]


def test_eager_mode_is_worse_and_warm_repetitions_are_refused(h200):
    sides = [f"{h200}/ab/*{side}-*" for side in "AB"]
    done = run(*sides, "--telemetry", h200 / "ab/telemetry.jsonl.gz", "--json")
    assert isinstance(done.exception, NotQualifiedError)
    found = {v["subject"]: v for v in json.loads(done.stdout)["verdicts"]}
    for point in ("concurrency=16", "concurrency=64"):
        for metric in ("tpot_ms/p50", "itl_ms/p50", "output_tokens_per_s/total"):
            verdict = found[f"load/vllm-bench-1024x128@{point}/{metric}"]
            assert verdict["verdict"] == "worse"
            # Of five pairs the first turns of the repeated block 2 are refused.
            assert verdict["n"] == 4
            low, high = verdict["interval"]
            assert low < verdict["effect"] < high
            assert all(verdict[key] for key in ("method", "reason", "unit"))


def test_without_telemetry_the_warm_pair_is_not_noticed(h200):
    sides = [f"{h200}/ab/*{side}-c16*" for side in "AB"]
    said = json.loads(run(*sides, "--json").stdout)
    loads = [v for v in said["verdicts"] if v["subject"].startswith("load/")]
    (verdict,) = [v for v in loads if v["subject"].endswith("/tpot_ms/p50")]
    assert verdict["n"] == 5


def test_people_read_what_blocks_first_and_the_outcome_last(h200):
    lines = run(repetitions(h200, 1), repetitions(h200, 2)).stdout.splitlines()
    assert lines[0] == "blocking"
    assert lines[-1].startswith("same: ")
    assert any(line.startswith("needs interleaved sides: ") for line in lines)
    assert len(lines) < 30
    whole = run(repetitions(h200, 1), repetitions(h200, 2), "--all").stdout.splitlines()
    assert len(whole) > 60
