"""Accuracy of a night against those before it."""

import pytest
from histories import night_of

from gauntlet.analyzer.history.scores import interval, judge_scores, score_of


def row(index, value, **changes):
    fields = {
        "series_id": "e1", "recipe": "nightly", "workload": "gsm8k", "point": "", "model": "m",
        "accelerator": "H200", "task": "gsm8k", "metric": "exact_match", "filter": "strict",
        "direction": "higher", "night": night_of(index), "value": value, "stderr": None, "n": 1319,
        "harness": "lm-eval", "harness_version": "0.4.9", "task_version": "3", "fewshot": 5,
        "config_fp": "a", "engine_commit": f"c{index}", "image_digest": "",
    }  # fmt: skip
    return {**fields, **changes}


def judged(last, **changes):
    rows = [row(n, 0.85) for n in range(14)] + [row(14, last, **changes)]
    return judge_scores([score_of(each) for each in rows], night_of(14), margin_points=2.0)


@pytest.mark.parametrize(
    ("value", "stderr", "n", "expected"),
    [
        (0.5, 0.01, 10, (0.4804, 0.5196)),
        (0.5, None, 100, (0.402, 0.598)),
        (0.99, 0.01, 10, (0.9704, 1.0)),
        (7.0, 0.1, 10, (6.804, 7.196)),
        (7.0, None, 10, None),
    ],
    ids=["its own error", "binomial", "a share ends at 1", "no share", "not known"],
)
def test_a_score_has_an_interval_where_its_error_is_known(value, stderr, n, expected):
    found = interval(score_of(row(0, value, stderr=stderr, n=n)))
    assert found == (None if expected is None else pytest.approx(expected, abs=1e-4))


def test_an_unchanged_score_says_nothing():
    assert judged(0.845) == []


def test_a_drop_far_beyond_chance_is_a_regression():
    (finding,) = judged(0.80)
    assert (finding.kind, finding.blocking, finding.unit) == ("regression", True, "points")
    assert finding.effect == pytest.approx(-5.0)
    assert finding.lower < finding.effect < finding.upper < 0
    assert "5.0 points worse than 0.8500" in finding.reason


def test_a_score_near_the_threshold_is_rerun_before_anybody_is_accused():
    (finding,) = judged(0.826)
    assert (finding.kind, finding.blocking) == ("provisional", False)
    assert "rerun before anybody is accused" in finding.reason


def test_a_gain_is_no_finding():
    assert judged(0.95) == []


def test_where_less_is_better_a_rise_is_the_loss():
    rows = [row(n, 0.10, direction="lower") for n in range(14)]
    rows.append(row(14, 0.16, direction="lower"))
    (finding,) = judge_scores([score_of(r) for r in rows], night_of(14), margin_points=2.0)
    assert (finding.kind, finding.effect) == ("regression", pytest.approx(6.0))


def test_c23_a_harness_upgrade_is_a_new_baseline_and_no_regression():
    """Case C23: strict match fell to 0 because the harness changed."""
    (finding,) = judged(0.0, harness_version="0.4.11")
    assert (finding.kind, finding.blocking) == ("config-changed", False)
    assert "a dependency changed: harness version 0.4.9 -> 0.4.11" in finding.reason
    assert "new baseline" in finding.reason


def test_another_fingerprint_is_not_compared():
    (finding,) = judged(0.5, config_fp="b")
    assert "the configuration changed: config fp a -> b" in finding.reason


def test_tasks_of_other_nights_are_left_alone():
    rows = [row(n, 0.85) for n in range(5)]
    assert judge_scores([score_of(r) for r in rows], night_of(14), margin_points=2.0) == []
