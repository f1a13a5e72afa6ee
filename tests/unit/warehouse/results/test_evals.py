"""lm-eval's and bfcl-eval's results: a low score is more often something else."""

import json
from datetime import UTC, datetime

import pytest

from gauntlet.warehouse.results.bfcl import bfcl_batch, find_categories
from gauntlet.warehouse.results.identity import Identity, UnreadableResultError
from gauntlet.warehouse.results.lm_eval import lm_eval_batches, samples_beside

NOW = datetime(2026, 12, 1, tzinfo=UTC)
WHO = Identity(recipe="nightly")


def rows_of(batch, table):
    return [
        json.loads(line)
        for section in batch.sections
        if section.table == table
        for line in section.payload.splitlines()
    ]


def lm_eval(result, samples=None, who=WHO):
    data = json.dumps(result).encode()
    return lm_eval_batches(data, samples or {}, file="f.json", identity=who, now=NOW)


def test_scores_and_samples_of_a_real_run(shared):
    path = shared / "data/samples/lm_eval/gsm8k_results_2025-09-09T13-31-53.431753.json"
    samples = samples_beside(path)
    assert list(samples) == ["gsm8k"]
    ((batch, reasons),) = lm_eval_batches(
        path.read_bytes(), samples, file=str(path), identity=WHO, now=NOW
    )
    assert reasons == ()
    scores = {(r["metric"], r["filter"]): r for r in rows_of(batch, "eval_results")}
    strict = scores["exact_match", "strict-match"]
    assert (strict["value"], strict["n"], strict["fewshot"]) == (0.75, 100, 5)
    assert strict["stderr"] == pytest.approx(0.0435194)
    assert (strict["partial"], strict["harness_version"]) == (True, "0.4.9.1")
    answers = rows_of(batch, "eval_samples")
    assert len(answers) == 3
    assert answers[0]["answer"] == "230"
    assert answers[0]["question"].startswith("Two trains leave San Rafael")
    (repetition,) = rows_of(batch, "repetitions")
    assert (repetition["client_version"], repetition["kind"]) == ("0.4.9.1", "eval")
    assert repetition["settings"]["task_hash"].startswith("fda6ea12")


def test_the_other_real_run_and_samples_of_another_task(shared):
    folder = shared / "data/samples/lm_eval"
    path = folder / "gsm8k_results_2025-09-09T13-42-42.857006.json"
    ((batch, reasons),) = lm_eval_batches(
        path.read_bytes(), samples_beside(path), file=str(path), identity=WHO, now=NOW
    )
    assert reasons == ()
    assert batch.table_rows() == {"eval_samples": 3, "eval_results": 2, "repetitions": 1}
    (samples,) = folder.glob("samples_mmlu_*.jsonl")
    result = {"results": {"mmlu": {"exact_match,custom-extract": 0.3}}}
    ((batch, reasons),) = lm_eval(result, {"mmlu": samples.read_bytes()})
    assert reasons == ()
    first = rows_of(batch, "eval_samples")[0]
    assert (first["answer"], first["expected"], first["score"]) == ("B", "G", 0.0)
    assert first["filter"] == "custom-extract"


def test_another_harness_begins_another_segment_of_the_same_series():
    def row(version):
        result = {
            "results": {"t": {"acc,none": 0.5}},
            "lm_eval_version": version,
            "date": 1757424333.0,
        }
        ((batch, _),) = lm_eval(result)
        return rows_of(batch, "repetitions")[0]

    old, new = row("0.4.9.2"), row("0.4.11")
    assert old["series_id"] == new["series_id"]
    assert old["config_fp"] != new["config_fp"]


def test_the_old_layout_is_read():
    result = {"results": {"hellaswag": {"acc": 0.6, "acc_stderr": 0.005, "acc_norm": 0.7}}}
    line = {"doc_id": 1, "target": "B", "resps": [["B"]], "filtered_resps": ["B"], "acc": 1.0}
    ((batch, reasons),) = lm_eval(result, {"hellaswag": json.dumps(line).encode()})
    assert reasons == ()
    found = {r["metric"]: (r["value"], r["stderr"]) for r in rows_of(batch, "eval_results")}
    assert found == {"acc": (0.6, 0.005), "acc_norm": (0.7, None)}
    assert rows_of(batch, "eval_samples")[0]["score"] == 1.0


def test_an_error_of_zero_is_no_precision():
    result = {"results": {"t": {"acc,none": 0.0, "acc_stderr,none": 0.0}}}
    ((batch, _),) = lm_eval(result)
    assert rows_of(batch, "eval_results")[0]["stderr"] is None


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (
            {"exact_match,strict-match": 1.5},
            "results.t.exact_match,strict-match: 1.5 is not between",
        ),
        ({"acc,none": float("nan")}, "results.t.acc: nan is no score"),
        ({"alias": "t"}, "results.t: no metric"),
    ],
    ids=["above one", "nan", "empty"],
)
def test_a_score_that_cannot_be_is_kept_as_invalid(result, said):
    ((batch, reasons),) = lm_eval({"results": {"t": result}})
    assert any(said in reason for reason in reasons), reasons
    assert dict(batch.table_rows()) == {"repetitions": 1}


def test_a_damaged_sample_is_kept_with_its_reason_and_the_rest_goes_on():
    good = json.dumps(
        {"doc_id": 1, "target": "x", "filtered_resps": ["x"], "metrics": ["acc"], "acc": 1}
    )
    lines = f"{good}\n{{\n{{}}\n".encode()
    ((batch, _),) = lm_eval({"results": {"t": {"acc,none": 1.0}}}, {"t": lines})
    refused = rows_of(batch, "rejected_rows")
    assert [row["position"] for row in refused] == ["samples of t, line 2", "samples of t, line 3"]
    assert "missing 'doc_id'" in refused[1]["reasons"][0]
    assert len(rows_of(batch, "eval_samples")) == 1


def test_an_answer_that_no_filter_found_is_unparsable_not_wrong():
    line = {
        "doc_id": 1,
        "target": "x",
        "filtered_resps": ["[invalid]"],
        "metrics": ["acc"],
        "acc": 0.0,
    }
    ((batch, _),) = lm_eval({"results": {"t": {"acc,none": 0.0}}}, {"t": json.dumps(line).encode()})
    assert rows_of(batch, "eval_samples")[0]["status"] == "unparsable"


@pytest.mark.parametrize("text", [b"{", b"[]", b'{"results": {}}', b'{"results": 3}'])
def test_what_is_no_results_file_is_told(text):
    with pytest.raises(UnreadableResultError, match=r"f\.json"):
        lm_eval_batches(text, {}, file="f.json", identity=WHO, now=NOW)


@pytest.fixture
def project(tmp_path):
    """Write a BFCL project of one category; ``score=None``: it was never evaluated."""

    def write(results, score=None):
        result = tmp_path / "result" / "model" / "non_live" / "BFCL_v4_simple_python_result.json"
        result.parent.mkdir(parents=True)
        result.write_text("".join(json.dumps(line) + "\n" for line in results))
        if score is not None:
            path = tmp_path / "score" / "model" / "non_live" / "BFCL_v4_simple_python_score.json"
            path.parent.mkdir(parents=True)
            path.write_text("".join(json.dumps(line) + "\n" for line in score))
        return tmp_path

    return write


def read(folder, expected=None):
    (category,) = find_categories(folder)
    return bfcl_batch(category, version="2026.3.23", identity=WHO, expected=expected, now=NOW)


ANSWERS = [{"id": f"simple_python_{n}", "result": [{"f": '{"a": 1}'}]} for n in range(4)]


def head(correct, total=4):
    return {"accuracy": correct / total, "correct_count": correct, "total_count": total}


def test_a_category_with_its_score(project):
    wrong = {"id": "simple_python_2", "error": ["wrong value"], "error_type": "value_error:int"}
    batch, reasons = read(project(ANSWERS, [head(3), wrong]), expected=400)
    assert reasons == ()
    (score,) = rows_of(batch, "eval_results")
    assert (score["task"], score["value"], score["n"], score["partial"]) == (
        "simple_python", 0.75, 4, True,
    )  # fmt: skip
    assert [row["score"] for row in rows_of(batch, "eval_samples")] == [1.0, 1.0, 0.0, 1.0]


def test_generated_but_never_scored_is_an_error_and_no_zero(project):
    batch, reasons = read(project(ANSWERS))
    assert reasons == ("score: none for simple_python; it was generated, not evaluated",)
    assert rows_of(batch, "eval_results") == []
    assert {row["score"] for row in rows_of(batch, "eval_samples")} == {None}


def test_a_decoder_that_fails_every_line_is_the_adapter_s_error(project):
    failed = [
        {"id": a["id"], "error": ["x"], "error_type": "ast_decoder:decoder_failed"} for a in ANSWERS
    ]
    batch, reasons = read(project(ANSWERS, [head(0), *failed]))
    assert reasons == (
        "adapter error: every one of 4 lines has error_type ast_decoder:decoder_failed",
    )
    assert rows_of(batch, "eval_results") == []


def test_a_model_that_is_wrong_everywhere_is_just_wrong(project):
    failed = [{"id": a["id"], "error": ["x"], "error_type": "value_error:int"} for a in ANSWERS]
    batch, reasons = read(project(ANSWERS, [head(0), *failed]))
    assert reasons == ()
    assert rows_of(batch, "eval_results")[0]["value"] == 0.0


def test_requests_that_never_reached_the_model_are_infrastructure(project):
    lost = [
        {**a, "result": "Error during inference: Connection error.", "traceback": "…"}
        for a in ANSWERS
    ]
    batch, reasons = read(project(lost, [head(0)]))
    assert reasons[0] == "result: 4 of 4 requests never reached the model"
    assert rows_of(batch, "eval_results") == []
    assert {row["status"] for row in rows_of(batch, "eval_samples")} == {"error"}


def test_a_score_of_other_lines_is_told(project):
    _, reasons = read(project(ANSWERS, [head(5, 5)]))
    assert reasons == ("score: total_count 5, but 4 results",)


def test_a_folder_without_results_is_told(tmp_path):
    with pytest.raises(UnreadableResultError, match="no result/MODEL"):
        find_categories(tmp_path)


def test_damaged_files_are_told_by_line(project):
    folder = project(ANSWERS, [{"accuracy": 3, "correct_count": 1, "total_count": 4}])
    with pytest.raises(UnreadableResultError, match=r"_score\.json:1: accuracy"):
        read(folder)
    path = folder / "result" / "model" / "non_live" / "BFCL_v4_simple_python_result.json"
    path.write_text('{"id": "a"}\n{\n')
    with pytest.raises(UnreadableResultError, match=r"_result\.json:2: JSON"):
        read(folder)
