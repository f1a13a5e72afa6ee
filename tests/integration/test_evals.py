"""Accuracy tasks with the real lm-eval and bfcl-eval against the simulator over HTTP."""

import gzip
import json
import os
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from gauntlet.harness.context import Measurement
from gauntlet.harness.engines.engine import Engine
from gauntlet.harness.engines.simulator import simulator_launch
from gauntlet.harness.measure_eval import measure_eval
from gauntlet.harness.schedule import Slot
from gauntlet.perf_eval.evals import BfclEval, Gsm8kEval, LmEval, ToolCallEval
from gauntlet.perf_eval.jsonl import dump_jsonl
from gauntlet.perf_eval.questions import generate_tool_tasks, generate_word_problems

ROOT = Path(__file__).resolve().parents[2]
BFCL = Path(os.environ.get("GAUNTLET_BFCL_VENV") or ROOT / ".venv-bfcl")
QUICK = {"decode_step_ms": 1.0, "request_overhead_ms": 0.0, "startup_s": 0.0, "noise_cv": 0.0}
SURE = {"accuracy": 1.0, "tool_accuracy": 1.0, "verbosity": 3}

needs_bfcl = pytest.mark.skipif(
    not (BFCL / "bin" / "python").exists(), reason="no bfcl-eval in .venv-bfcl: run `make bfcl`"
)


@contextmanager
def measurement(folder, *, knowledge=(), answers=SURE, **settings):
    """One turn against a simulator that knows the answers in ``knowledge``."""
    config = folder / "engine.yaml"
    known = {"name": "x", "model": "m", "timing": QUICK, "answers": dict(answers)}
    config.write_text(yaml.safe_dump({**known, **settings}))
    launch = simulator_launch(
        config, workdir=folder, side="baseline", seed=1, knowledge=list(knowledge)
    )
    with Engine(launch, side="baseline", log=folder / "log") as engine:
        engine.start()
        slot = Slot(block=0, pair=0, position=0, side="baseline")
        yield Measurement(
            run_id="r", recipe="recipe", engine=engine, slot=slot, seed=7, workdir=folder
        )


def metrics(measured):
    return {
        (row.metric, row.statistic): row.value
        for row in measured.rows
        if type(row).__name__ == "MetricRow"
    }


def rows(measured, kind):
    return [row for row in measured.rows if type(row).__name__ == kind]


@pytest.fixture
def problems(tmp_path):
    path = tmp_path / "test.jsonl"
    path.write_text(dump_jsonl(generate_word_problems(8, 5)))
    return path


def lm_eval(**settings):
    return LmEval.model_validate({"kind": "lm_eval", "name": "maths", **settings})


def local(path, **settings):
    return lm_eval(task="gsm8k_local", data={"test": path}, concurrency=4, **settings)


@pytest.mark.parametrize("endpoint", ["completions", "chat"])
def test_lm_eval_keeps_why_each_answer_ended_and_its_length(tmp_path, problems, endpoint):
    with measurement(tmp_path, knowledge=[problems]) as turn:
        measured = measure_eval(turn, local(problems, endpoint=endpoint))
    assert measured.repetition.status == "valid", measured.repetition.reasons
    samples = rows(measured, "EvalSampleRow")
    assert len(samples) == 8
    assert {sample.finish_reason for sample in samples} == {"stop"}
    assert all(sample.output_tokens > 1 and sample.response for sample in samples)
    found = metrics(measured)
    assert found["accuracy", "mean"] == 1.0
    assert found["truncated_share", "mean"] == 0.0
    results = {(row.metric, row.filter): row for row in rows(measured, "EvalResultRow")}
    assert set(results) == {("exact_match", "strict-match"), ("exact_match", "flexible-extract")}
    assert all(row.value == 1.0 and row.stderr is None for row in results.values())
    assert {row.fewshot for row in results.values()} == {5}
    assert {row.harness_version for row in results.values()} == {"0.4.13"}


def test_cut_answers_are_counted_and_said(tmp_path, problems):
    with measurement(tmp_path, knowledge=[problems]) as turn:
        measured = measure_eval(turn, local(problems, generation={"max_tokens": 4}))
    samples = rows(measured, "EvalSampleRow")
    assert {(s.finish_reason, s.output_tokens) for s in samples} == {("length", 4)}
    found = metrics(measured)
    assert found["truncated_share", "mean"] == 1.0
    assert found["accuracy_not_truncated", "mean"] is None
    assert measured.repetition.reasons == (
        "8 of 8 answers were cut at 4 tokens: a low score is more often a truncated answer",
    )


def test_repeats_ask_the_same_prompts_with_seeds_of_their_own(tmp_path, problems):
    flips = {**SURE, "accuracy": 0.5, "flip_rate": 0.3}
    with measurement(tmp_path, knowledge=[problems], answers=flips) as turn:
        task = local(problems, repeats=2, seeds=[3, 4], filters=["strict-match"])
        measured = measure_eval(turn, task)
    found = metrics(measured)
    each = [found["accuracy", f"repeat-{n}"] for n in (1, 2)]
    assert found["accuracy", "mean"] == pytest.approx(sum(each) / 2)
    (result,) = rows(measured, "EvalResultRow")
    assert result.value == pytest.approx(found["accuracy", "mean"])
    assert (result.n, result.stderr > 0) == (8, True)
    folder = Path(measured.repetition.artifact)
    asked = [_lines(folder / f"responses-{seed}.jsonl.gz") for seed in (3, 4)]
    prompts = [sorted(line["prompt"] for line in lines) for lines in asked]
    assert prompts[0] == prompts[1]
    assert len(set(prompts[0])) == 8
    assert not (folder / "hf").exists()


def _lines(path):
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def test_a_lost_request_is_asked_again_and_then_told_by_its_own_error(tmp_path, problems):
    with measurement(tmp_path, knowledge=[problems], faults={"http_503_every": 4}) as turn:
        again = measure_eval(turn, local(problems))
        own = {"kind": "gsm8k", "name": "g", "source": {"file": problems}, "items": 8}
        once = measure_eval(turn, Gsm8kEval.model_validate(own))
    assert (again.repetition.status, again.repetition.failed) == ("valid", 0)
    assert (once.repetition.status, once.repetition.failed) == ("invalid", 2)
    assert once.repetition.reasons == (
        "2 of 8 requests failed (2 HTTP 503: The engine is overloaded.)",
    )
    lost = [row for row in rows(once, "EvalSampleRow") if row.status == "error"]
    assert {row.score for row in lost} == {None}
    kept = [row for row in rows(once, "EvalSampleRow") if row.status == "scored"]
    assert {(row.score, row.finish_reason) for row in kept} == {(1.0, "stop")}


def test_the_first_api_error_is_the_reason_and_no_consequence_of_it(tmp_path, problems):
    small = {"max_model_len": 128, "kv_cache": {"blocks": 64}}
    with measurement(tmp_path, knowledge=[problems], **small) as turn:
        measured = measure_eval(turn, local(problems))
    row = measured.repetition
    assert (row.status, row.completed, row.failed) == ("failed", 0, 8)
    assert "HTTP 400: This model's maximum context length is 128 tokens" in row.reasons[0]
    assert metrics(measured)["accuracy", "mean"] is None


def test_what_cannot_be_evaluated_is_a_failed_repetition_with_its_class(tmp_path, problems):
    path = tmp_path / "mine.yaml"
    path.write_text("task: mine\noutput_type: generate_until\ndoc_to_text: '{{nothing'\n")
    with measurement(tmp_path) as turn:
        measured = measure_eval(turn, lm_eval(task=str(path), data={"test": problems}))
        gone = measure_eval(turn, local(tmp_path / "gone.jsonl"))
        late = measure_eval(turn, local(problems, timeout_s=0.2))
    assert measured.repetition.status == "failed"
    assert measured.repetition.reasons[0].startswith("tool-crash: lm-eval ended with an error: ")
    assert gone.repetition.reasons == (f"bad-data: data.test: {tmp_path}/gone.jsonl is not there",)
    assert late.repetition.reasons == ("tool-timeout: lm-eval did not end within 0.2 s",)


def test_tool_calls_keep_why_each_answer_ended(tmp_path):
    knowledge = tmp_path / "tools.jsonl"
    knowledge.write_text(dump_jsonl(generate_tool_tasks(8, 5)))
    answers = {**SURE, "tool_accuracy": 0.5}
    task = ToolCallEval.model_validate(
        {"kind": "tool_calls", "name": "t", "source": {"file": knowledge}, "items": 8}
    )
    with measurement(tmp_path, knowledge=[knowledge], answers=answers) as turn:
        measured = measure_eval(turn, task)
    samples = rows(measured, "EvalSampleRow")
    assert {s.finish_reason for s in samples} <= {"tool_calls", "stop"}
    assert all(s.output_tokens and s.question and s.response for s in samples)
    without = [s for s in samples if s.answer.startswith("no call")]
    assert metrics(measured)["empty_share", "mean"] == len(without) / 8
    assert rows(measured, "EvalResultRow")[0].value == metrics(measured)["accuracy", "mean"]


def test_real_questions_with_commas_and_negative_answers(tmp_path, shared):
    """Eight rows of GSM8K's test set, those with the awkward numbers first."""
    source = (shared / "data" / "gsm8k" / "test.jsonl").read_text().splitlines()
    ends = {line: json.loads(line)["answer"].rsplit("####", 1)[1].strip() for line in source}
    commas = [line for line in source if "," in ends[line]]
    negative = [line for line in source if ends[line].startswith("-")]
    assert (len(commas), len(negative)) == (14, 2)
    path = tmp_path / "eight.jsonl"
    path.write_text("\n".join([*commas[:5], *negative, source[0]]))
    with measurement(tmp_path, knowledge=[path]) as turn:
        measured = measure_eval(turn, local(path, fewshot=5))
    assert {row.value for row in rows(measured, "EvalResultRow")} == {1.0}
    answers = [row.answer for row in rows(measured, "EvalSampleRow")]
    assert sum(answer.startswith("-") for answer in answers) == 2
    assert sum("," in answer for answer in answers) == 5


@needs_bfcl
def test_bfcl_asks_over_chat_completions_and_scores_offline(tmp_path):
    data = next(BFCL.glob("lib/python3*/site-packages/bfcl_eval/data"))
    name = "BFCL_v4_simple_python.json"
    known = [data / name, data / "possible_answer" / name, data / "BFCL_v4_irrelevance.json"]
    task = bfcl(categories=["simple_python", "irrelevance"], max_cases={"non_live": 6})
    with measurement(tmp_path, knowledge=known) as turn:
        measured = measure_eval(turn, task)
    assert measured.repetition.status == "valid", measured.repetition.reasons
    found = {row.task: (row.value, row.n, row.partial) for row in rows(measured, "EvalResultRow")}
    assert found == {"simple_python": (1.0, 6, True), "irrelevance": (1.0, 6, True)}
    samples = rows(measured, "EvalSampleRow")
    assert {sample.finish_reason for sample in samples} == {"tool_calls", "stop"}
    assert all(sample.output_tokens and sample.question for sample in samples)
    assert {sample.expected for sample in samples if "irrelevance" in sample.item_id} == {"no call"}
    assert measured.repetition.settings["partial"] == "simple_python,irrelevance"


@needs_bfcl
def test_bfcl_against_an_engine_that_refuses_is_no_zero(tmp_path):
    with measurement(tmp_path, faults={"http_503_every": 1}) as turn:
        measured = measure_eval(turn, bfcl(categories=["irrelevance"], max_cases=2))
    assert measured.repetition.status == "failed"
    assert rows(measured, "EvalResultRow") == []
    assert metrics(measured)["accuracy", "mean"] is None
    assert {sample.score for sample in rows(measured, "EvalSampleRow")} == {None}


def bfcl(**settings):
    values = {"kind": "bfcl", "name": "bfcl", "environment": BFCL, **settings}
    return BfclEval.model_validate(values)
