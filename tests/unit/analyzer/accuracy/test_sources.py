"""Answers from files: lm-eval's samples, bfcl-eval's folders, and what is wrong with them."""

import json

import pytest
from answer_factory import STAMP, sample_line, write_run

from gauntlet.analyzer.accuracy.comparability import differences
from gauntlet.analyzer.accuracy.judge import judge_accuracy
from gauntlet.analyzer.accuracy.lm_eval_files import from_lm_eval_file, task_of
from gauntlet.analyzer.accuracy.sources import read_answers, read_repeats
from gauntlet.core.errors import ConfigError, UsageError
from gauntlet.warehouse.results.identity import UnreadableResultError


def no_store():
    raise AssertionError("files need no warehouse")


def read(path, **options):
    return read_answers(str(path), store=no_store, **options)


def test_samples_take_version_and_settings_from_the_results_beside_them(tmp_path):
    found = read(write_run(tmp_path, [1, 0, 1]))
    assert [(a.item_id, a.score) for a in found.answers] == [("0", 1.0), ("1", 0.0), ("2", 1.0)]
    assert (found.task, found.metric, found.filter) == ("gsm8k", "exact_match", "strict-match")
    assert (found.harness, found.harness_version) == ("lm-eval", "0.4.11")
    assert (found.task_version, found.fewshot) == ("3.0", 5)
    assert found.settings == {"gen_kwargs": "temperature=0", "task_hash": "abc"}
    assert found.answers[0].question_digest == "document:d0"
    assert found.answers[0].truncated is None


@pytest.mark.parametrize("kind", ["samples", "results", "folder"])
def test_a_run_is_named_by_its_samples_its_results_or_its_folder(tmp_path, kind):
    samples = write_run(tmp_path, [1, 0])
    path = {"samples": samples, "results": tmp_path / f"results_{STAMP}.json", "folder": tmp_path}
    assert read(path[kind]).source == str(samples)


def test_samples_alone_are_read_and_say_what_is_unknown(tmp_path):
    samples = write_run(tmp_path, [1])
    (tmp_path / f"results_{STAMP}.json").unlink()
    found = read(samples)
    assert found.harness_version == ""
    assert "version is unknown" in found.notes[0]


def test_the_first_filter_counts_unless_another_is_named(tmp_path):
    lines = [sample_line(0, 0.0), sample_line(0, 1.0, "flexible-extract")]
    samples = write_run(tmp_path, [], lines=lines)
    assert [a.score for a in read(samples).answers] == [0.0]
    assert [a.score for a in read(samples, answer_filter="flexible-extract").answers] == [1.0]
    with pytest.raises(UsageError, match="did you mean 'strict-match'"):
        read(samples, answer_filter="strict-mach")


def test_a_question_that_stands_twice_is_a_cluster_of_repeats(tmp_path):
    lines = [sample_line(0, 1.0), sample_line(0, 0.0), sample_line(1, 1.0)]
    found = read(write_run(tmp_path, [], lines=lines)).answers
    assert [(a.item_id, a.cluster) for a in found] == [("0", "0"), ("0#2", "0"), ("1", "1")]


def test_runs_given_together_are_repeats(tmp_path):
    first, second = (write_run(tmp_path / name, [1, 0]) for name in ("a", "b"))
    found = read_repeats([str(first), str(second)], store=no_store)
    assert [a.item_id for a in found.answers] == ["0", "1", "0#2", "1#2"]
    assert [a.cluster for a in found.answers] == ["0", "1", "0", "1"]
    other = write_run(tmp_path / "c", [1, 0], lm_eval_version="0.4.9")
    with pytest.raises(UsageError, match="does not repeat.*harness version 0.4.11 → 0.4.9"):
        read_repeats([str(first), str(other)], store=no_store)


def test_every_damaged_line_is_named_with_its_number(tmp_path):
    samples = write_run(tmp_path, [1])
    lines = [
        json.dumps(sample_line(0)),
        "{",
        "[]",
        json.dumps({"target": "18"}),
        json.dumps(sample_line(2, float("nan"))),
        json.dumps(sample_line(3, metrics="exact_match")),
    ]
    samples.write_text("\n".join(lines))
    with pytest.raises(ConfigError) as caught:
        read(samples)
    assert [(p.line, p.message.partition(":")[0]) for p in caught.value.problems] == [
        (2, "JSON"),
        (3, "an object is expected, not list"),
        (4, "missing 'doc_id'"),
        (5, "exact_match"),
        (6, "metrics"),
    ]
    assert str(samples) in caught.value.message


def test_an_empty_file_has_no_answers(tmp_path):
    assert read(write_run(tmp_path, [])).answers == ()


def test_fewer_samples_than_were_asked_are_noted(tmp_path):
    samples = write_run(tmp_path, [1], **{"n-samples": {"gsm8k": {"effective": 100}}})
    assert read(samples).notes == ("the samples hold 1 of 100 questions that were asked",)


@pytest.mark.parametrize(
    ("said", "match"),
    [
        ("nowhere", "no such file or folder"),
        ("empty", r"no samples_\*\.jsonl"),
        ("notes.txt", "no samples of lm-eval"),
    ],
)
def test_what_holds_no_samples_is_refused(tmp_path, said, match):
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(UsageError, match=match):
        read(tmp_path / said)


def test_a_folder_with_two_runs_of_a_task_is_ambiguous(tmp_path):
    for name in ("a", "b"):
        write_run(tmp_path / name, [1])
    with pytest.raises(UsageError, match="several runs of gsm8k"):
        read(tmp_path)


def test_results_of_another_task_are_no_results_of_these_samples(tmp_path):
    samples = write_run(tmp_path, [1], results={"mmlu": {"acc,none": 0.5}})
    with pytest.raises(UnreadableResultError, match="no task gsm8k; it has mmlu"):
        read(samples)


def test_several_tasks_are_chosen_from_or_joined_as_categories(tmp_path):
    for task, scores in (("mmlu_law", [1, 0]), ("mmlu_art", [1])):
        write_run(tmp_path / task, scores, task=task)
    with pytest.raises(UsageError, match="2 tasks: mmlu_art, mmlu_law"):
        read(tmp_path)
    assert len(read(tmp_path, task="mmlu_law").answers) == 2
    with pytest.raises(UsageError, match="unknown task"):
        read(tmp_path, task="mmlu_lax")
    found = read(tmp_path, tasks="joined")
    assert found.task == "mmlu"
    assert [(a.item_id, a.stratum) for a in found.answers] == [
        ("mmlu_art/0", "mmlu_art"),
        ("mmlu_law/0", "mmlu_law"),
        ("mmlu_law/1", "mmlu_law"),
    ]
    assert found.settings["mmlu_law.task_version"] == "3.0"


@pytest.mark.parametrize(
    ("stem", "task"),
    [
        ("samples_gsm8k_2025-09-09T13-31-53.431753", "gsm8k"),
        ("gsm8k_samples_gsm8k_2025-09-09T13-31-53.431753", "gsm8k"),
        ("samples_mmlu_pro_plus_health_2025-10-14T14-44-39.372006", "mmlu_pro_plus_health"),
        ("answers", "answers"),
    ],
)
def test_the_task_is_read_from_the_name(tmp_path, stem, task):
    assert task_of(tmp_path / f"{stem}.jsonl") == task


def test_real_runs_of_lm_eval_were_asked_alike(shared):
    folder = shared / "data/samples/lm_eval"
    first = read(folder / "gsm8k_samples_gsm8k_2025-09-09T13-31-53.431753.jsonl")
    second = read(folder / "gsm8k_results_2025-09-09T13-42-42.857006.json")
    assert [a.score for a in first.answers] == [1.0, 0.0, 0.0]
    assert [a.score for a in second.answers] == [1.0, 0.0, 1.0]
    assert (first.harness_version, first.fewshot, first.task_version) == ("0.4.9.1", 5, "3.0")
    assert first.answers[0].prompt_digest.startswith("e1bf2091")
    assert first.notes == ("the samples hold 3 of 100 questions that were asked",)
    assert differences(first, second) == ()
    assert first.model != second.model


def test_real_samples_of_mmlu_without_results(shared):
    (path,) = (shared / "data/samples/lm_eval").glob("samples_mmlu_*.jsonl")
    found = from_lm_eval_file(path)
    assert (found.task, found.filter) == ("mmlu_pro_plus_health", "custom-extract")
    assert [(a.item_id, a.score, a.status) for a in found.answers] == [
        ("12", 0.0, "scored"),
        ("13", 0.0, "unparsable"),
        ("14", 1.0, "scored"),
    ]


def write_bfcl(project, category, ids, failures=None, scored=True):
    """Write one category; ``failures`` maps an id to its error type."""
    failures = failures or {}
    folders = [project / kind / "model" for kind in ("result", "score")]
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    rows = [{"id": key, "result": "[f()]"} for key in ids]
    result = folders[0] / f"BFCL_v4_{category}_result.json"
    result.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    if scored:
        right = len(ids) - len(failures)
        head = {
            "accuracy": right / len(ids),
            "correct_count": right,
            "total_count": len(ids),
        }
        wrong = [{"id": key, "error_type": kind, "error": ["x"]} for key, kind in failures.items()]
        score = folders[1] / f"BFCL_v4_{category}_score.json"
        score.write_text("".join(f"{json.dumps(row)}\n" for row in [head, *wrong]))
    return project


def test_categories_of_bfcl_are_strata(tmp_path):
    ids = {name: [f"{name}_{i}" for i in range(4)] for name in ("parallel", "multiple")}
    write_bfcl(tmp_path, "parallel", ids["parallel"], {"parallel_1": "value_error:x"})
    write_bfcl(tmp_path, "multiple", ids["multiple"])
    found = read(tmp_path, tasks="joined")
    assert {a.stratum for a in found.answers} == {"parallel", "multiple"}
    assert sum(a.score for a in found.answers) == 7
    one = read(tmp_path, task="parallel")
    assert [a.score for a in one.answers] == [1.0, 0.0, 1.0, 1.0]


def test_generated_but_never_evaluated_is_refused_by_the_source(tmp_path):
    """C27: no score is no zero."""
    write_bfcl(tmp_path, "parallel", ["parallel_0"], scored=False)
    found = read(tmp_path)
    assert found.answers[0].score is None
    assert "generated, not evaluated" in found.refused[0]


def test_one_decoding_error_everywhere_is_the_adapter_s(tmp_path):
    """C29: the handler cannot decode, so every row fails alike."""
    ids = [f"parallel_{i}" for i in range(3)]
    write_bfcl(tmp_path, "parallel", ids, dict.fromkeys(ids, "ast_decoder:decoder_failed"))
    found = read(tmp_path)
    assert {a.error for a in found.answers} == {"ast_decoder:decoder_failed"}
    assert "adapter error" in found.refused[0]


def test_files_of_any_name_are_compared_by_what_they_hold(tmp_path):
    before, after = tmp_path / "before.jsonl", tmp_path / "after.jsonl"
    for path, right in ((before, 40), (after, 20)):
        lines = [{"doc_id": number, "exact_match": float(number < right)} for number in range(50)]
        path.write_text("\n".join(map(json.dumps, lines)))
    verdict = judge_accuracy(read(before), read(after), margin=0.02).verdict
    assert (verdict.outcome, verdict.n, verdict.effect) == ("worse", 50, pytest.approx(-40))


def test_names_that_say_the_task_must_say_the_same(tmp_path):
    one = write_run(tmp_path / "a", [1, 0])
    other = tmp_path / one.name.replace("gsm8k", "mmlu")
    other.write_bytes(one.read_bytes())
    verdict = judge_accuracy(read(one), read(other), margin=0.02).verdict
    assert verdict.outcome == "config-changed"
    assert "task gsm8k → mmlu" in verdict.reason
