"""``gauntlet analyze frontier`` on result files."""

import json

import pytest
from bench_files import write_result
from click.testing import CliRunner

from gauntlet.analyzer.frontier_command import frontier
from gauntlet.core.errors import NotQualifiedError, UsageError


def measure(folder, slower):
    """Two pairs at three points; the turns of a pair differ a little."""
    for side, variant, factor in (("b", "A", 1.0), ("c", "B", slower)):
        for order in (0, 2):
            for concurrency in (1, 2, 4):
                turn = order + (side == "c")
                write_result(
                    folder / side / f"block0-{turn}{variant}-c{concurrency}.json",
                    concurrency=concurrency,
                    tpot_ms=8.0 * concurrency**0.3 * factor * (1 + turn * 1e-5),
                    variant=variant,
                    block=0,
                    order=turn,
                )


def run(folder, *more):
    arguments = ["--baseline", f"{folder}/b;gpus=2", "--candidate", f"{folder}/c;gpus=2", *more]
    return CliRunner().invoke(frontier, arguments, standalone_mode=False)


def test_a_loss_ends_in_an_error_after_the_table(tmp_path):
    measure(tmp_path, slower=1.3)
    result = run(tmp_path)
    assert isinstance(result.exception, NotQualifiedError)
    assert "frontier/vllm-bench/1000x100/hypervolume" in result.exception.message
    assert "concurrency=4" in result.output
    assert "tok/s/GPU" in result.output


def test_an_unchanged_build_passes_and_json_is_data(tmp_path):
    measure(tmp_path, slower=1.0)
    result = run(tmp_path, "--json", "--noise-percent", "0.1")
    assert result.exception is None
    (band,) = json.loads(result.output)
    assert band["verdicts"][0]["verdict"] == "same"
    assert band["verdicts"][0]["margin"] == 3.0
    assert len(band["points"]) == 6


def test_a_filter_holds_for_both_sides(tmp_path):
    measure(tmp_path, slower=1.0)
    result = run(tmp_path, "--where", "point=concurrency=2", "--json")
    (band,) = json.loads(result.output)
    assert {point["point"] for point in band["points"]} == {"concurrency=2"}


@pytest.mark.parametrize(
    ("baseline", "said"),
    [
        pytest.param("gone.json", "no such file", id="no-file"),
        pytest.param("b;points=1", "did you mean 'point'?", id="no-filter"),
    ],
)
def test_what_names_nothing_is_a_usage_error(tmp_path, baseline, said):
    measure(tmp_path, slower=1.0)
    arguments = ["--baseline", f"{tmp_path}/{baseline}", "--candidate", f"{tmp_path}/c"]
    result = CliRunner().invoke(frontier, arguments, standalone_mode=False)
    assert isinstance(result.exception, UsageError)
    assert said in result.exception.message
