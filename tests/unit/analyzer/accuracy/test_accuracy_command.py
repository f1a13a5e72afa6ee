import json

import pytest
from answer_factory import sample_line, write_run
from click.testing import CliRunner

from gauntlet.analyzer.cli import analyze
from gauntlet.core.errors import InvalidMeasurementError, NotQualifiedError, UsageError


def invoke(*arguments):
    return CliRunner().invoke(
        analyze, ["accuracy", *map(str, arguments)], catch_exceptions=False, standalone_mode=False
    )


def sides(tmp_path, before, after):
    return (
        *("--baseline", write_run(tmp_path / "a", before)),
        *("--candidate", write_run(tmp_path / "b", after)),
    )


def test_same_prints_the_table_and_the_reason(tmp_path):
    found = invoke(*sides(tmp_path, [1] * 300 + [0] * 100, [1] * 300 + [0] * 100))
    lines = found.output.splitlines()
    assert lines[0] == "same  eval/gsm8k/exact_match/strict-match"
    assert lines[1].startswith("  +0.00 points [-0.67, +0.67]: of 400 answers 0 were right only")
    assert lines[1].endswith("a drop of 2.1 points would have been seen in nine of ten cases")
    assert lines[3:7] == [
        "                   candidate right  candidate wrong",
        "  baseline right               300                0",
        "  baseline wrong                 0              100",
        "  score  75.00 % → 75.00 %  (exact McNemar, Tango's score interval)",
    ]
    assert lines[7].startswith("  two scores by eye would say +0.00 [-5.04, +5.04]")
    assert lines[8] == "  asked in random order, 276 of 400 questions would have shown same"


def test_worse_prints_json_and_fails(tmp_path):
    runner = CliRunner()
    arguments = sides(tmp_path, [1] * 200, [0] * 40 + [1] * 160)
    with pytest.raises(NotQualifiedError, match="worse: eval/gsm8k/exact_match/strict-match"):
        invoke(*arguments, "--json")
    found = runner.invoke(analyze, ["accuracy", *map(str, arguments), "--json"])
    plain = json.loads(found.stdout)
    assert (plain["verdict"], plain["effect"], plain["n"]) == ("worse", -20.0, 200)
    assert plain["interval"][0] < -20 < plain["interval"][1]


def test_invalid_and_missing_fail_as_measurements(tmp_path):
    """C25, C27: neither a zero nor an empty file is an accuracy."""
    with pytest.raises(InvalidMeasurementError, match="suspect harness"):
        invoke(*sides(tmp_path, [1] * 50, [0] * 50))
    with pytest.raises(InvalidMeasurementError, match="missing: no answers of the candidate"):
        invoke(*sides(tmp_path / "empty", [1] * 50, []))


def test_another_harness_is_said_and_fails_nothing(tmp_path):
    """C23: a dependency, not accuracy."""
    before = write_run(tmp_path / "a", [1] * 50, lm_eval_version="0.4.9.2")
    after = write_run(tmp_path / "b", [0] * 50)
    found = invoke("--baseline", before, "--candidate", after)
    assert found.output.startswith("config-changed  eval/gsm8k")


def test_unpaired_questions_are_refused(tmp_path):
    with pytest.raises(UsageError, match="unpaired: 3 questions against 2; 1 only in"):
        invoke(*sides(tmp_path, [1, 1, 1], [1, 1]))


def test_strata_join_the_tasks_of_a_folder(tmp_path):
    for side in ("a", "b"):
        for task in ("mmlu_law", "mmlu_art"):
            write_run(tmp_path / side / task, [1] * 300, task=task)
    found = invoke(
        *("--baseline", tmp_path / "a", "--candidate", tmp_path / "b", "--strata", "equal")
    )
    assert found.output.startswith("same  eval/mmlu/exact_match/strict-match")
    assert "mmlu_art: +0.00 points" in found.output


def test_repeats_and_a_baseline_asked_again(tmp_path):
    scores = [1] * 300 + [0] * 100
    a, b, c, d = (write_run(tmp_path / name, scores) for name in "abcd")
    found = invoke("--baseline", a, "--baseline", b, "--candidate", c, "--candidate", d)
    assert "Student's t over 400 clusters" in found.output
    again = write_run(tmp_path / "again", [0] * 4 + scores[4:])
    found = invoke("--baseline", a, "--candidate", b, "--baseline-again", again)
    assert "the 1.0% by which the baseline differs from itself" in found.output


def test_a_filter_is_chosen_by_name(tmp_path):
    lines = [sample_line(i, 1.0, name) for name in ("strict-match", "flex") for i in range(300)]
    before, after = (write_run(tmp_path / name, [], lines=lines) for name in ("a", "b"))
    found = invoke("--baseline", before, "--candidate", after, "--filter", "flex")
    assert found.output.startswith("same  eval/gsm8k/exact_match/flex")


def test_a_side_is_not_compared_with_itself(tmp_path):
    path = write_run(tmp_path, [1, 0])
    with pytest.raises(UsageError, match="both sides are .*samples_gsm8k"):
        invoke("--baseline", path, "--candidate", path)


def test_real_runs_are_too_few_to_decide(shared):
    folder = shared / "data/samples/lm_eval"
    found = invoke(
        *("--baseline", folder / "gsm8k_samples_gsm8k_2025-09-09T13-31-53.431753.jsonl"),
        *("--candidate", folder / "gsm8k_samples_gsm8k_2025-09-09T13-42-42.857006.jsonl"),
        "--json",
    )
    plain = json.loads(found.output)
    assert (plain["verdict"], plain["n"]) == ("inconclusive", 3)
    details = plain["details"]
    assert (details["losses"], details["gains"]) == (0, 1)
    assert "gemma3:12b-u1, gemma3:12b-it-q4_K_M" in details["notes"][2]
