import json
import math
import statistics

import pytest
from eval_turn import lost, metrics_of, sample, turn
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.harness.evals.samples import (
    accuracy_rows,
    clustered_stderr,
    is_truncated,
    sample_rows,
    truncation_note,
)
from gauntlet.harness.evals.suspicion import suspect_harness


@pytest.mark.parametrize(
    ("reason", "tokens", "most", "cut"),
    [
        pytest.param("length", 10, None, True, id="said"),
        pytest.param("length", None, 64, True, id="said, no count"),
        pytest.param("stop", 64, 64, True, id="at the limit"),
        pytest.param(None, 64, 64, True, id="at the limit, nothing said"),
        pytest.param("stop", 63, 64, False, id="below"),
        pytest.param(None, None, 64, False, id="nothing known"),
        pytest.param("stop", 64, None, False, id="no limit"),
    ],
)
def test_an_answer_is_cut_where_it_says_so_or_is_as_long_as_may_be(reason, tokens, most, cut):
    assert is_truncated(sample(finish_reason=reason, output_tokens=tokens), most) is cut


def test_what_lowers_a_score_is_counted_apart(tmp_path):
    samples = [
        *(sample(f"right-{n}") for n in range(4)),
        sample("wrong", score=0.0, output_tokens=20),
        sample("cut", score=0.0, finish_reason="length", output_tokens=64, status="unparsable"),
        sample("empty", score=0.0, response="", empty="answer", status="unparsable"),
        sample("no call", score=0.0, empty="call"),
        lost("lost-1"),
        lost("lost-2"),
    ]
    rows = accuracy_rows(turn(tmp_path), "e", samples, max_tokens=64)
    assert metrics_of(rows) == {
        ("accuracy", "mean"): 0.5,
        ("accuracy_not_truncated", "mean"): pytest.approx(4 / 7),
        ("truncated_share", "mean"): 1 / 8,
        ("empty_share", "mean"): 2 / 8,
        ("unparsable_share", "mean"): 2 / 8,
        ("error_share", "mean"): 0.2,
        ("mean_output_tokens", "mean"): (4 * 10 + 20 + 64 + 10 + 10) / 8,
    }
    assert {row.metric: row.n for row in rows}["error_share"] == 10


def test_nothing_judged_is_no_number(tmp_path):
    found = metrics_of(accuracy_rows(turn(tmp_path), "e", [lost()]))
    assert found.pop(("error_share", "mean")) == 1.0
    assert set(found.values()) == {None}


def test_scores_of_an_adapter_that_failed_are_not_stored(tmp_path):
    found = metrics_of(accuracy_rows(turn(tmp_path), "e", [sample()], with_accuracy=False))
    assert found["accuracy", "mean"] is None
    assert found["accuracy_not_truncated", "mean"] is None
    assert found["error_share", "mean"] == 0.0


def test_repeats_have_an_accuracy_each_and_rows_of_their_own(tmp_path):
    samples = [sample(f"{n}", score=float(n < 3 - r), repeat=r) for r in range(2) for n in range(4)]
    found = metrics_of(accuracy_rows(turn(tmp_path), "e", samples))
    assert found["accuracy", "repeat-1"] == 0.75
    assert found["accuracy", "repeat-2"] == 0.5
    assert found["accuracy", "mean"] == 0.625
    ids = [row.item_id for row in sample_rows(turn(tmp_path), "e", samples)]
    assert ids == ["0", "1", "2", "3", "0#2", "1#2", "2#2", "3#2"]


def test_rows_are_bounded(tmp_path):
    (row,) = sample_rows(turn(tmp_path), "e", [sample(response="x" * 100_000, question="y" * 9)])
    assert len(row.response) == 16_000
    assert (row.question, row.finish_reason, row.output_tokens) == ("yyyyyyyyy", "stop", 10)


@given(st.lists(st.booleans(), min_size=2, max_size=60), st.integers(1, 5))
def test_asking_again_adds_no_certainty(scores, repeats):
    once = [sample(str(n), score=float(s)) for n, s in enumerate(scores)]
    again = [
        sample(str(n), score=float(s), repeat=r)
        for r in range(repeats)
        for n, s in enumerate(scores)
    ]
    error = clustered_stderr(once)
    assert clustered_stderr(again) == (pytest.approx(error) if error else None)
    if len(set(scores)) == 1:
        assert error is None
    else:
        assert error == pytest.approx(statistics.stdev(map(float, scores)) / math.sqrt(len(scores)))


def test_one_question_gives_no_error_of_the_mean():
    assert clustered_stderr([sample(score=0.0), sample(score=1.0, repeat=1)]) is None


def test_many_cut_answers_are_said():
    cut = [sample(str(n), finish_reason="length") for n in range(6)]
    whole = [sample(str(n)) for n in range(6, 100)]
    note = truncation_note([*cut, *whole], 64)
    assert note == (
        "6 of 100 answers were cut at 64 tokens: a low score is more often a truncated answer"
    )
    assert truncation_note([*cut[:5], *whole, sample("more")], 64) is None
    assert truncation_note([lost()], 64) is None


WRONG = [sample(str(n), score=0.0, response=f"answer {n}") for n in range(20)]
UNREAD = [sample(str(n), score=0.0, status="unparsable") for n in range(3)]


@pytest.mark.parametrize(
    ("score", "history", "samples", "suspect"),
    [
        pytest.param(0.0, [0.6, 0.7], WRONG, True, id="zero after good scores"),
        pytest.param(0.05, [0.6, 0.7], WRONG, False, id="low but not zero"),
        pytest.param(0.0, [], WRONG, False, id="no history"),
        pytest.param(0.0, [0.0, 0.0, 0.1], WRONG, False, id="always zero"),
        pytest.param(0.0, [0.02], WRONG, False, id="chance explains it"),
        pytest.param(0.0, [0.5], WRONG[:3], False, id="too few questions"),
        pytest.param(0.0, [0.02], UNREAD, True, id="none parsed"),
        pytest.param(None, [0.6], [lost()], False, id="nothing came back"),
        pytest.param(0.0, [1.0], WRONG[:1], True, id="never wrong before"),
    ],
)
def test_an_incredible_zero_is_the_harness_s(score, history, samples, suspect):
    found = suspect_harness(score, history, samples)
    assert (found is not None) is suspect
    if found:
        assert found.reason.startswith("suspect harness: ")


def test_ten_samples_are_the_evidence():
    found = suspect_harness(0.0, [0.6, 0.8, 0.7], WRONG)
    assert found.reason == (
        "suspect harness: the score is exactly 0 over 20 answers, and the median of 3 earlier "
        "scores is 0.7"
    )
    document = json.loads(found.as_json())
    assert [each["response"] for each in document["samples"]] == [f"answer {n}" for n in range(10)]
    assert {"question", "expected", "finish_reason"} <= set(document["samples"][0])
    text = found.as_text()
    assert text.count("--- ") == 10
    assert "question: How many?" in text
    assert "finish reason: stop" in text
