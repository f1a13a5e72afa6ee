import json

import pytest
from eval_turn import ENDPOINT

from gauntlet.harness.evals.bfcl import (
    BfclOutcome,
    ask_bfcl,
    plan,
    read_outcome,
    summarise,
)
from gauntlet.harness.evals.outcome import EvalError
from gauntlet.perf_eval.evals import BfclEval

GROUPS = {"simple_python": "non_live", "irrelevance": "non_live", "multi_turn_base": "multi_turn"}
CALL = [{"f": '{"a": 1}'}]


def bfcl(*categories, **settings):
    values = {"kind": "bfcl", "name": "tools", "categories": categories or ["simple_python"]}
    return BfclEval.model_validate({**values, **settings})


@pytest.fixture
def project(tmp_path):
    """Write what bfcl-eval writes of one category; ``wrong=None``: it was never evaluated."""

    def write(category, results, wrong=()):
        name = f"BFCL_v4_{category}"
        folders = [
            tmp_path / kind / "gauntlet-FC" / GROUPS[category] for kind in ("result", "score")
        ]
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
        text = "".join(json.dumps(row) + "\n" for row in results)
        (folders[0] / f"{name}_result.json").write_text(text)
        if wrong is not None:
            count = len(results) - len(wrong)
            head = {"accuracy": count / len(results), "correct_count": count,
                    "total_count": len(results)}  # fmt: skip
            text = "".join(json.dumps(row) + "\n" for row in (head, *wrong))
            (folders[1] / f"{name}_score.json").write_text(text)
        return tmp_path

    return write


def row(number, result=CALL, category="simple_python", **more):
    return {"id": f"{category}_{number}", "result": result, "output_token_count": 5, **more}


def wrong(number, kind="value_error:int", category="simple_python"):
    return {"id": f"{category}_{number}", "error": ["x"], "error_type": kind, "prompt": "p"}


def told(**categories):
    return BfclOutcome.model_validate({"version": "2026.3.23", "categories": categories})


def whole(count):
    return {"total": count, "asked": count}


def test_a_whole_category(project):
    folder = project(
        "simple_python", [row(n, finish_reason=["tool_calls"]) for n in range(4)], [wrong(2)]
    )
    asked = summarise(bfcl(), told(simple_python=whole(4)), folder)
    (score,) = asked.scores
    assert (score.task, score.value, score.n, score.partial) == ("simple_python", 0.75, 4, False)
    assert score.stderr == pytest.approx(0.25)
    assert [sample.score for sample in asked.samples] == [1.0, 1.0, 0.0, 1.0]
    assert {(s.finish_reason, s.output_tokens) for s in asked.samples} == {("tool_calls", 5)}
    assert asked.problems == ()
    assert "partial" not in asked.settings


def test_a_cut_category_is_marked_partial(project):
    folder = project("simple_python", [row(0), row(1)])
    asked = summarise(bfcl(max_cases=2), told(simple_python={"total": 400, "asked": 2}), folder)
    assert asked.scores[0].partial
    assert asked.settings["partial"] == "simple_python"


def test_a_category_without_results_is_an_error_and_no_zero(project):
    folder = project("simple_python", [row(0)])
    outcome = told(simple_python=whole(1), irrelevance={**whole(9), "error": "OSError: disk"})
    asked = summarise(bfcl("simple_python", "irrelevance"), outcome, folder)
    assert asked.problems == ("irrelevance: no result file: OSError: disk",)
    assert [score.task for score in asked.scores] == ["simple_python"]


def test_nothing_at_all_is_an_error(tmp_path):
    outcome = told(simple_python={**whole(9), "error": "ImportError: x"})
    with pytest.raises(EvalError, match="simple_python: ImportError: x") as caught:
        summarise(bfcl(), outcome, tmp_path)
    assert caught.value.kind == "no-result"


def test_generated_but_never_scored_is_an_error_and_no_zero(project):
    folder = project("simple_python", [row(0)], wrong=None)
    asked = summarise(bfcl(), told(simple_python=whole(1)), folder)
    assert asked.scores == ()
    assert asked.problems == (
        "simple_python: score: none for simple_python; it was generated, not evaluated",
    )
    assert asked.samples[0].score is None


def test_fewer_results_than_cases_are_told(project):
    folder = project("simple_python", [row(0)])
    asked = summarise(bfcl(), told(simple_python=whole(3)), folder)
    assert asked.problems == ("simple_python: 1 results of 3 cases",)
    assert asked.scores == ()


def test_one_decoding_error_everywhere_is_the_adapter_s(project):
    failed = [wrong(n, "ast_decoder:decoder_failed") for n in range(4)]
    folder = project("simple_python", [row(n) for n in range(4)], failed)
    asked = summarise(bfcl(), told(simple_python=whole(4)), folder)
    assert asked.problems[0].startswith("simple_python: adapter error: every one of 4 lines")
    assert asked.scores == ()
    assert {sample.score for sample in asked.samples} == {None}


def test_a_model_that_always_calls_is_wrong_where_none_is_due_and_no_adapter(project):
    rows = [row(n, category="irrelevance") for n in range(3)]
    failed = [wrong(n, "irrelevance_error:decoder_success", "irrelevance") for n in range(3)]
    folder = project("irrelevance", rows, failed)
    asked = summarise(bfcl("irrelevance"), told(irrelevance=whole(3)), folder)
    assert asked.problems == ()
    assert asked.scores[0].value == 0.0


def test_a_lost_request_is_no_answer_also_where_none_is_right(project):
    failure = {"result": "Error during inference: Connection error.", "traceback": "..."}
    rows = [row(n, result=[], category="irrelevance") for n in range(60)]
    rows[0] = {**rows[0], **failure}
    # bfcl-eval takes the error's text for an answer without a call, which is right here.
    folder = project("irrelevance", rows)
    asked = summarise(bfcl("irrelevance"), told(irrelevance=whole(60)), folder)
    assert asked.problems == ()
    assert (asked.scores[0].value, asked.scores[0].n) == (1.0, 59)
    first = asked.samples[0]
    assert (first.status, first.score) == ("error", None)
    assert "Connection error" in first.error


@pytest.mark.parametrize(
    ("result", "kind", "status", "empty"),
    [
        pytest.param(CALL, "ast_decoder:decoder_failed", "unparsable", "", id="cut call"),
        pytest.param("Sunny.", "ast_decoder:decoder_failed", "scored", "call", id="text"),
        pytest.param([], "ast_decoder:decoder_wrong_output_format", "scored", "call", id="nothing"),
        pytest.param(CALL, "value_error:int", "scored", "", id="wrong value"),
    ],
)
def test_no_call_and_a_call_that_cannot_be_read_are_told_apart(
    project, result, kind, status, empty
):
    folder = project("simple_python", [row(0, result), row(1)], [wrong(0, kind)])
    asked = summarise(bfcl(), told(simple_python=whole(2)), folder)
    first = asked.samples[0]
    assert (first.status, first.score, first.empty) == (status, 0.0, empty)


def test_conversations_are_counted_over_all_their_answers(project):
    name = "multi_turn_base"
    rows = [
        row(0, [[[], ["done"]]], name, finish_reason=["tool_calls", "length", "stop"]),
        row(1, [[CALL, []]], name),
    ]
    rows[0]["output_token_count"] = [[10, 20], [5]]
    inner = {"error_type": "multi_turn:empty_turn_model_response", "error_message": "x"}
    failed = {"id": f"{name}_0", "error": inner, "prompt": {"question": "Q"}}
    folder = project(name, rows, [failed])
    turns = [[{"role": "system", "content": "S"}, {"role": "user", "content": "Q"}], []]
    case = {"id": f"{name}_0", "question": turns, "expected": [["ls()"]]}
    (folder / "cases.jsonl").write_text(json.dumps(case) + "\n")
    asked = summarise(bfcl(name), told(multi_turn_base=whole(2)), folder)
    first, second = asked.samples
    assert (first.output_tokens, first.finish_reason, first.empty) == (35, "length", "call")
    assert (first.question, first.expected) == ("Q", '[["ls()"]]')
    assert (second.score, second.empty) == (1.0, "")


def test_the_plan_resolves_groups_and_limits(tmp_path):
    task = bfcl("non_python", "simple_python", max_cases={"simple_java": 3}, maximum_steps=10)
    request = plan(ENDPOINT, task, project=tmp_path)
    assert request["categories"] == {
        "simple_python": None, "simple_java": 3, "simple_javascript": None,
    }  # fmt: skip
    assert (request["model"], request["maximum_steps"]) == ("m", 10)


def test_a_missing_environment_says_how_to_make_it(tmp_path):
    with pytest.raises(EvalError, match="has no bfcl-eval") as caught:
        ask_bfcl(ENDPOINT, bfcl(environment=tmp_path / "none"), folder=tmp_path)
    assert (caught.value.kind, caught.value.hint) == (
        "tool-missing",
        "`make bfcl` makes .venv-bfcl",
    )


@pytest.mark.parametrize("text", [None, "{", '{"version": 1}'])
def test_a_worker_that_says_nothing_is_told(tmp_path, text):
    if text is not None:
        (tmp_path / "outcome.json").write_text(text)
    with pytest.raises(EvalError, match="no outcome"):
        read_outcome(tmp_path)


def test_damaged_cases_are_the_adapter_s_error(project):
    folder = project("simple_python", [row(0)])
    (folder / "cases.jsonl").write_text('{"id": 1}\n')
    with pytest.raises(EvalError, match=r"cases\.jsonl"):
        summarise(bfcl(), told(simple_python=whole(1)), folder)
