import gzip
import json
import re
from importlib import resources
from pathlib import Path

import pytest
import yaml
from eval_turn import ENDPOINT
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.harness.evals.lm_eval import first_api_error, keep_logs, plan
from gauntlet.harness.evals.lm_eval_results import read_lines, summarise
from gauntlet.harness.evals.lm_eval_tasks import find_definition
from gauntlet.harness.evals.lm_eval_worker import SampleLine, TaskOutcome, WorkerOutcome
from gauntlet.harness.evals.outcome import EvalError
from gauntlet.perf_eval.evals import LmEval

TASKS = Path(str(resources.files("gauntlet.harness.evals") / "tasks"))


def lm_eval(**settings):
    values = {"kind": "lm_eval", "name": "maths", "task": "gsm8k_local", **settings}
    return LmEval.model_validate(values)


def line(number, answer_filter="strict-match", score=1.0, **changes):
    values = {
        "task": "gsm8k_local",
        "doc_id": number,
        "filter": answer_filter,
        "question": f"question {number}",
        "prompt": f"Question: {number}",
        "doc_hash": f"h{number}",
        "target": "#### 18",
        "response": "It is #### 18",
        "answer": "18",
        "scores": {"exact_match": score},
        "finish_reason": "stop",
        "output_tokens": 7,
        "error": "",
    }
    return SampleLine(**{**values, **changes})


def outcome(**changes):
    values = {
        "version": "1.0",
        "prompt_digest": "p",
        "fewshot": 5,
        "max_tokens": 512,
        "documents": 4,
        "results": {"exact_match,strict-match": 0.5},
    }
    task = TaskOutcome(**{**values, **changes})
    return WorkerOutcome(lm_eval_version="0.4.13", tasks={"gsm8k_local": task})


def summary(task, *repeats, told=None):
    return summarise(task, find_definition(task), "0.4.13", told or outcome(), repeats)


def test_the_plan_says_all_that_the_worker_needs(tmp_path):
    task = lm_eval(
        data={"test": tmp_path / "t.jsonl"},
        endpoint="chat",
        fewshot=3,
        limit=8,
        generation={"max_tokens": 99, "temperature": 0.6, "until": ["Q:"]},
        model_arguments={"think_end_token": "</think>"},
        repeats=2,
        concurrency=4,
    )
    request = plan(ENDPOINT, task, find_definition(task), folder=tmp_path)
    assert request.arguments["base_url"] == "http://127.0.0.1:9/v1/chat/completions"
    assert request.arguments["think_end_token"] == "</think>"
    assert request.generation == {
        "max_gen_toks": 99, "temperature": 0.6, "do_sample": True, "until": ["Q:"],
    }  # fmt: skip
    assert request.data == {"test": str(tmp_path / "t.jsonl")}
    assert (request.chat, request.apply_chat_template, request.concurrency) == (True, True, 4)
    assert (request.fewshot, request.limit, request.seeds) == (3, 8, (1234, 1235))


def test_a_task_is_found_by_name_by_path_and_below_a_folder(tmp_path):
    inner = tmp_path / "deep" / "mine.yaml"
    inner.parent.mkdir()
    inner.write_text("task: my_task\n")
    assert find_definition(lm_eval()).path == TASKS / "gsm8k_local.yaml"
    by_path = find_definition(lm_eval(task=str(inner)))
    below = find_definition(lm_eval(task="my_task", include_path=tmp_path))
    assert by_path == below
    assert (below.name, below.path) == ("my_task", inner)
    assert find_definition(lm_eval(task="mmlu")).path is None


def test_a_changed_definition_is_another_version(tmp_path):
    path = tmp_path / "t.yaml"
    path.write_text("task: t\n")
    before = find_definition(lm_eval(task=str(path)))
    (tmp_path / "utils.py").write_text("def doc_to_text(doc): ...\n")
    assert find_definition(lm_eval(task=str(path))).digest != before.digest


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [("none.yaml", None, "no such task file"), ("x.yaml", "group: g\n", "the file gives no name")],
)
def test_a_task_that_is_none_is_told(tmp_path, name, text, said):
    if text:
        (tmp_path / name).write_text(text)
    with pytest.raises(EvalError, match=said) as caught:
        find_definition(lm_eval(task=str(tmp_path / name)))
    assert caught.value.kind == "bad-task"


def test_samples_and_scores_of_every_filter():
    lines = [line(n, f, score=float(n < s)) for f, s in (("a", 1), ("b", 3)) for n in range(4)]
    asked = summary(lm_eval(), lines)
    assert {(s.metric, s.filter): s.value for s in asked.scores} == {
        ("exact_match", "a"): 0.25,
        ("exact_match", "b"): 0.75,
    }
    assert [s.score for s in asked.samples] == [1.0, 0.0, 0.0, 0.0]
    assert {s.filter for s in asked.samples} == {"a"}
    only = summary(lm_eval(filters=["b"]), lines)
    assert [s.filter for s in only.scores] == ["b"]
    assert (only.scores[0].n, only.scores[0].partial) == (4, False)
    assert asked.max_tokens == 512
    assert asked.samples[0].finish_reason == "stop"


def test_fewer_documents_than_the_task_has_are_partial():
    asked = summary(lm_eval(limit=2), [line(0), line(1)], told=outcome(documents=1319))
    assert asked.scores[0].partial


def test_repeats_are_clustered_by_item():
    repeats = [[line(n, score=float(n < 2)) for n in range(4)] for _ in range(3)]
    once, thrice = summary(lm_eval(), repeats[0]), summary(lm_eval(repeats=3), *repeats)
    assert thrice.scores[0].value == once.scores[0].value == 0.5
    assert thrice.scores[0].stderr == pytest.approx(once.scores[0].stderr)
    assert thrice.scores[0].n == 4
    assert [s.repeat for s in thrice.samples] == [0] * 4 + [1] * 4 + [2] * 4


@pytest.mark.parametrize(
    ("changes", "status", "score", "empty"),
    [
        pytest.param({}, "scored", 1.0, "", id="right"),
        pytest.param({"answer": "[invalid]", "scores": {"exact_match": 0}}, "unparsable", 0.0, "",
                     id="nothing found"),
        pytest.param({"answer": "", "response": " ", "scores": {"exact_match": 0}}, "unparsable",
                     0.0, "answer", id="empty"),
        pytest.param({"error": "HTTP 503: x", "response": "", "scores": {"exact_match": 0}},
                     "error", None, "", id="lost"),
    ],
)  # fmt: skip
def test_how_a_line_is_classed(changes, status, score, empty):
    (sample,) = summary(lm_eval(), [line(0, **changes)]).samples
    assert (sample.status, sample.score, sample.empty) == (status, score, empty)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"filters": ["loose"]}, "filters: 'loose' is none of the task's; it has: strict-match"),
        ({"metric": "acc"}, "metric: 'acc' is none of the task's; it has: exact_match"),
    ],
)
def test_what_the_task_does_not_have_is_told(settings, said):
    with pytest.raises(EvalError, match=re.escape(said)):
        summary(lm_eval(**settings), [line(0)])


def test_no_document_is_no_zero():
    with pytest.raises(EvalError, match="no document") as caught:
        summary(lm_eval(), [])
    assert caught.value.kind == "no-result"


def test_versions_that_change_a_score_are_in_the_client_s_version():
    task = lm_eval()
    before = summary(task, [line(0)]).tool.client_version
    assert before.startswith("0.4.13+task.")
    newer = outcome().model_copy(update={"lm_eval_version": "0.4.14"})
    assert summary(task, [line(0)], told=newer).tool.client_version == before.replace(".13", ".14")
    assert summary(task, [line(0)], told=outcome(prompt_digest="q")).tool.client_version != before
    assert summary(task, [line(0)], told=outcome(version="2")).tool.client_version != before


def test_the_first_api_error_is_the_cause(tmp_path):
    log = tmp_path / "responses-1.jsonl"
    rows = [
        {"prompt": "a", "text": "x", "error": ""},
        {"prompt": "b", "error": 'HTTP 400: "max_tokens" is too large'},
        {"prompt": "c", "error": "Session is closed"},
    ]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = first_api_error([tmp_path / "none", log])
    assert found == 'HTTP 400: "max_tokens" is too large'
    assert first_api_error([tmp_path / "none"]) == ""


def test_logs_are_kept_compressed(tmp_path):
    (tmp_path / "samples-5.jsonl").write_text("{}\n")
    keep_logs(tmp_path, [5, 6])
    (left,) = tmp_path.iterdir()
    assert left.name == "samples-5.jsonl.gz"
    assert gzip.decompress(left.read_bytes()) == b"{}\n"


def test_a_damaged_log_is_the_adapter_s_error(tmp_path):
    path = tmp_path / "samples-1.jsonl"
    path.write_text('{"task": "t"}\n')
    with pytest.raises(EvalError, match="samples-1.jsonl") as caught:
        read_lines(path)
    assert caught.value.kind == "adapter-error"


def extracted(task, name, response):
    """What lm-eval's regex filter takes out of a response, cleaned as its metric does."""
    definition = yaml.safe_load((TASKS / f"{task}.yaml").read_text())
    steps = {each["name"]: each["filter"][0] for each in definition["filter_list"]}
    found = re.findall(steps[name]["regex_pattern"], response)
    text = found[steps[name].get("group_select", 0)] if found else "[invalid]"
    for pattern in definition["metric_list"][0]["regexes_to_ignore"]:
        text = re.sub(pattern, "", text)
    return text


@pytest.mark.parametrize(
    ("response", "strict", "flexible"),
    [
        ("so 500 + 500.\n#### 1,000", "1000", "1000"),
        ("#### -5", "-5", "-5"),
        ("It falls to -12 degrees.", "[invalid]", "-12"),
        ("#### $1,234.50 ...", "1234.50", "1234.50"),
        ("20-5 is the range, 10-3", "[invalid]", "3"),
        ("That makes 18.", "[invalid]", "18"),
        ("#### 18.00", "18", "18"),
        ("no number at all ...", "[invalid]", "[invalid]"),
        ("#### 42\n\nAnd 7 more words", "42", "7"),
    ],
)
def test_numbers_are_found_in_maths_answers(response, strict, flexible):
    assert extracted("gsm8k_local", "strict-match", response) == strict
    assert extracted("gsm8k_local", "flexible-extract", response) == flexible


@given(
    st.integers(-10_000_000, 10_000_000), st.sampled_from(["#### {:,}", "#### {}", "#### {:,}."])
)
def test_every_whole_number_survives_both_filters(number, form):
    for name in ("strict-match", "flexible-extract"):
        assert extracted("gsm8k_local", name, f"reasons\n{form.format(number)}") == str(number)


@pytest.mark.parametrize(
    ("task", "response", "strict", "flexible"),
    [
        ("gpqa_diamond_local", "A is wrong.\nAnswer: C", "C", "C"),
        ("gpqa_diamond_local", "The answer is (B).", "B", "B"),
        ("gpqa_diamond_local", "I take **D** as it fits", "[invalid]", "D"),
        ("gpqa_diamond_local", "nothing", "[invalid]", "[invalid]"),
        ("aime_local", "so \\boxed{025}", "25", "25"),
        ("aime_local", "it is 2.5, so the answer is 204.", "[invalid]", "204"),
        ("aime_local", "\\boxed{0}", "0", "0"),
    ],
)
def test_letters_and_integers_are_found(task, response, strict, flexible):
    assert extracted(task, "strict-match", response) == strict
    assert extracted(task, "flexible-extract", response) == flexible


@pytest.mark.parametrize("path", sorted(TASKS.glob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_tasks_stop_by_a_list_and_have_both_filters(path):
    definition = yaml.safe_load(path.read_text())
    assert definition["task"] == path.stem
    assert isinstance(definition["generation_kwargs"]["until"], list)
    assert [f["name"] for f in definition["filter_list"]] == ["strict-match", "flexible-extract"]
