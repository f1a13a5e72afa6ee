"""Answers from the warehouse's rows; the queries themselves are tested on a store."""

import pytest

from gauntlet.analyzer.accuracy.stored import sets_of
from gauntlet.core.errors import UsageError


def asked(repetition_id="r", **changes):
    row = {
        "repetition_id": repetition_id,
        "workload": "gsm8k",
        "side": "baseline",
        "pair": 0,
        "status": "valid",
        "reasons": [],
        "client": "lm-eval",
        "client_version": "0.4.11+task.1",
        "model": "m",
        "config_fp": "fp",
        "dataset_digest": "dd",
        "settings": {"limit": "100"},
        "metric": "exact_match",
        "harness": "lm-eval",
        "harness_version": "0.4.11",
        "task_version": "3",
        "fewshot": 5,
    }
    return {**row, **changes}


def given_answer(item_id, score=1.0, repetition_id="r", **changes):
    row = {
        "repetition_id": repetition_id,
        "task": "gsm8k",
        "pair": 0,
        "item_id": item_id,
        "filter": "",
        "status": "scored",
        "score": score,
        "answer": "1",
        "expected": "1",
        "error": "",
        "question": f"what is {item_id}?",
        "response": "one",
        "finish_reason": None,
    }
    return {**row, **changes}


def test_rows_become_a_set_with_what_it_was_asked_with():
    (found,) = sets_of([asked()], [given_answer("q1"), given_answer("q2", 0.0)], source="here")
    assert [(a.item_id, a.score) for a in found.answers] == [("q1", 1.0), ("q2", 0.0)]
    assert (found.harness_version, found.fewshot, found.fingerprint) == ("0.4.11", 5, "fp")
    assert found.settings == {"limit": "100", "client version": "0.4.11+task.1"}
    assert found.answers[0].question_digest != found.answers[1].question_digest


@pytest.mark.parametrize(
    ("reason", "cut"), [("length", True), ("stop", False), (None, None)], ids=str
)
def test_the_finish_reason_says_whether_an_answer_was_cut(reason, cut):
    (found,) = sets_of([asked()], [given_answer("q", finish_reason=reason)], source="here")
    assert found.answers[0].truncated is cut


def test_repeats_and_further_pairs_of_a_question_are_one_cluster():
    rows = [
        given_answer("q"),
        given_answer("q#2"),
        given_answer("q", repetition_id="s", pair=1),
        given_answer("q#2", repetition_id="s", pair=1),
    ]
    (found,) = sets_of([asked(), asked("s", pair=1)], rows, source="here")
    assert [a.item_id for a in found.answers] == ["q", "q#2", "q#3", "q#4"]
    assert {a.cluster for a in found.answers} == {"q"}


def test_one_filter_is_chosen():
    rows = [given_answer("q", 0.0, filter="a"), given_answer("q", 1.0, filter="b")]
    (first,) = sets_of([asked()], rows, source="here")
    (second,) = sets_of([asked()], rows, source="here", answer_filter="b")
    assert (first.filter, first.answers[0].score) == ("a", 0.0)
    assert (second.filter, second.answers[0].score) == ("b", 1.0)
    with pytest.raises(UsageError, match="unknown filter of here, gsm8k 'c'"):
        sets_of([asked()], rows, source="here", answer_filter="c")


def test_categories_of_bfcl_come_from_the_ids():
    who = asked(client="bfcl-eval", workload="bfcl")
    rows = [
        given_answer("live_simple_3-2-0", task="bfcl"),
        given_answer("multi_turn_base_7", task="bfcl"),
    ]
    (found,) = sets_of([who], rows, source="here")
    assert [a.stratum for a in found.answers] == ["live_simple", "multi_turn_base"]


def test_subtasks_are_strata_of_their_own():
    (found,) = sets_of([asked()], [given_answer("law/3"), given_answer("3")], source="here")
    assert [a.stratum for a in found.answers] == ["law", ""]


def test_a_repetition_without_answers_keeps_its_reasons():
    refused = asked("s", workload="mmlu", status="failed", reasons=["api-error", "500"])
    both = sets_of([asked(), refused], [given_answer("q")], source="here")
    assert [(each.task, each.refused) for each in both] == [
        ("gsm8k", ()),
        ("mmlu", ("failed: api-error; 500",)),
    ]
    assert both[1].answers == ()


def test_repetitions_that_were_asked_differently_show_it():
    rows = [given_answer("q"), given_answer("p", repetition_id="s")]
    (found,) = sets_of([asked(), asked("s", config_fp="other", fewshot=0)], rows, source="here")
    assert (found.fingerprint, found.fewshot) == ("fp, other", None)
