import gzip
import json
from dataclasses import replace

import pytest
from eval_turn import lost, metrics_of, rows_of, sample, turn

from gauntlet.harness import measure_eval as module
from gauntlet.harness.engines.errors import EngineError
from gauntlet.harness.evals.outcome import Asked, EvalError, Score, Tool
from gauntlet.harness.measure_eval import measure_eval
from gauntlet.perf_eval.evals import LmEval, ToolCallEval

TASK = LmEval.model_validate({"kind": "lm_eval", "name": "maths", "task": "gsm8k_local"})
TOOL = Tool(name="lm-eval", version="0.4.13", task_version="t" * 64, prompt_digest="p" * 64)


def asked(samples, **changes):
    score = Score(task="maths", metric="exact_match", filter="strict", value=0.5, n=len(samples))
    values = {"tool": TOOL, "dataset_digest": "d", "samples": tuple(samples), "scores": (score,)}
    return Asked(**{**values, "max_tokens": 64, "settings": {"seeds": "1"}, **changes})


@pytest.fixture
def answers(monkeypatch):
    """Let the tool answer with what is given, or raise it."""

    def give(outcome):
        def ask(*_args, **_kwargs):
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        monkeypatch.setattr(module, "ask_lm_eval", ask)

    return give


def test_rows_of_a_repetition(tmp_path, answers):
    answers(asked([sample("0"), sample("1", score=0.0)]))
    measured = measure_eval(turn(tmp_path), TASK)
    row = measured.repetition
    assert (row.status, row.completed, row.failed) == ("valid", 2, 0)
    assert row.client_version == "0.4.13+task.tttttttttttt+prompt.pppppppppppp"
    assert row.settings == {"seeds": "1"}
    assert metrics_of(measured.rows)["accuracy", "mean"] == 0.5
    (result,) = rows_of(measured.rows, "EvalResultRow")
    assert (result.task_version, result.stderr, result.n) == ("t" * 64, None, 2)
    assert [r.question for r in rows_of(measured.rows, "EvalSampleRow")] == ["How many?"] * 2
    kept = gzip.decompress((tmp_path / "baseline" / "maths-0" / "judged.jsonl.gz").read_bytes())
    assert [json.loads(line)["item_id"] for line in kept.splitlines()] == ["0", "1"]
    assert row.artifact == str(tmp_path / "baseline" / "maths-0")


@pytest.mark.parametrize("kind", ["tool-missing", "api-error", "tool-timeout", "no-result"])
def test_a_tool_that_fails_is_a_failed_repetition_with_its_class(tmp_path, answers, kind):
    answers(EvalError(kind, "HTTP 404: no model m"))
    measured = measure_eval(turn(tmp_path), TASK)
    assert measured.repetition.status == "failed"
    assert measured.repetition.reasons == (f"{kind}: HTTP 404: no model m",)
    assert measured.repetition.client == "lm-eval"
    assert measured.rows == ()


def test_bad_questions_stop_no_other_measurement(tmp_path):
    source = {"file": str(tmp_path / "none.jsonl")}
    task = ToolCallEval.model_validate(
        {"kind": "tool_calls", "name": "tools", "source": source, "items": 1}
    )
    measured = measure_eval(turn(tmp_path), task)
    assert measured.repetition.status == "failed"
    assert measured.repetition.reasons[0].startswith("bad-data: ")
    assert "none.jsonl" in measured.repetition.reasons[0]


def test_an_engine_that_died_is_not_the_eval_s(tmp_path, answers):
    answers(EngineError("the baseline engine ended with status 1"))
    with pytest.raises(EngineError):
        measure_eval(turn(tmp_path), TASK)


def test_a_problem_of_the_adapter_leaves_no_accuracy(tmp_path, answers):
    answers(asked([sample("0")], problems=("x: adapter error: every line",), scores=()))
    measured = measure_eval(turn(tmp_path), TASK)
    assert measured.repetition.status == "invalid"
    assert measured.repetition.reasons == ("x: adapter error: every line",)
    assert metrics_of(measured.rows)["accuracy", "mean"] is None
    assert rows_of(measured.rows, "EvalResultRow") == []


def test_many_lost_requests_leave_a_sample_that_is_none(tmp_path, answers):
    answers(asked([sample(str(n)) for n in range(9)] + [lost("9")]))
    row = measure_eval(turn(tmp_path), TASK).repetition
    assert (row.status, row.completed, row.failed) == ("invalid", 9, 1)
    assert row.reasons == ("1 of 10 requests failed (1 HTTP 503: overloaded)",)


def test_many_cut_answers_are_noted_and_leave_the_repetition_valid(tmp_path, answers):
    answers(asked([sample("0", finish_reason="length"), sample("1")]))
    row = measure_eval(turn(tmp_path), TASK).repetition
    assert row.status == "valid"
    assert row.reasons == (
        "1 of 2 answers were cut at 64 tokens: a low score is more often a truncated answer",
    )


def test_a_zero_after_good_scores_is_held_with_ten_samples(tmp_path, answers):
    answers(asked([sample(str(n), score=0.0) for n in range(20)]))
    row = measure_eval(turn(tmp_path), TASK, history=[0.6, 0.62]).repetition
    assert row.status == "invalid"
    assert row.reasons[0].startswith("suspect harness: the score is exactly 0 over 20 answers")
    folder = tmp_path / "baseline" / "maths-0"
    assert len(json.loads((folder / "suspect-harness.json").read_text())["samples"]) == 10
    assert (folder / "suspect-harness.txt").read_text().count("--- ") == 10
    assert measure_eval(turn(tmp_path), TASK).repetition.status == "valid"


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"version": "0.4.14"}, id="lm-eval"),
        pytest.param({"task_version": "u" * 64}, id="task"),
        pytest.param({"prompt_digest": "q" * 64}, id="prompt"),
    ],
)
def test_another_version_begins_a_new_segment_and_changes_nothing_else(tmp_path, answers, change):
    found = []
    for tool in (TOOL, replace(TOOL, **change), TOOL):
        answers(asked([sample("0")], tool=tool))
        found.append(measure_eval(turn(tmp_path), TASK).repetition)
    first, other, again = found
    times = {"started_at", "ended_at"}
    assert first.config_fp == again.config_fp != other.config_fp
    before, after = first.model_dump(exclude=times), other.model_dump(exclude=times)
    changed = {key for key in before if before[key] != after[key]}
    assert changed == {"config_fp", "client_version"}


@pytest.mark.parametrize(
    "change", [{"fewshot": 3}, {"generation": {"max_tokens": 9}}, {"repeats": 2}, {"limit": 5}]
)
def test_other_settings_begin_a_new_segment(tmp_path, answers, change):
    answers(asked([sample("0")]))
    other = TASK.model_validate({**TASK.model_dump(), **change})
    one = measure_eval(turn(tmp_path), TASK).repetition
    two = measure_eval(turn(tmp_path), other).repetition
    assert one.config_fp != two.config_fp
    assert one.series_id == two.series_id
