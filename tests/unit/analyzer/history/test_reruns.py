"""Alarms: what is measured again, and what that says."""

import math
import random

import pytest
from histories import PLACE, alarm, commit_of, described, night_of, shape

from gauntlet.analyzer.history.report import Rule, judge_history
from gauntlet.analyzer.history.reruns import RerunPlan, Session, answer, confirm, plan_reruns
from gauntlet.core.json_file import json_text, load_json_model
from gauntlet.perf_eval.overrides import parse_settings
from gauntlet.perf_eval.recipe import load_recipe


def alarms(effect=6.0, **place):
    one = described(shape(alarm=alarm(29, effect)), place=PLACE._replace(**place))
    return judge_history([one], Rule()).findings


def session(suspect, parent, **changes):
    fields = {"series_id": "s1", "metric": "tpot_ms", "statistic": "p50"}
    values = {commit_of(29): suspect, commit_of(28): parent}
    return Session(**{**fields, **changes}, values=values)


def test_a_plan_names_both_builds_and_a_command_that_the_recipe_takes(tmp_path):
    findings = alarms(recipe="simulator-sweep", workload="random")
    plan = plan_reruns(night_of(29), findings)
    (rerun,) = plan.reruns
    assert (rerun.parent, rerun.suspect) == (commit_of(28), commit_of(29))
    assert rerun.turns == ("parent", "suspect", "suspect", "parent") * 2
    assert rerun.alerts == (findings[0].subject,)
    assert rerun.command[:4] == ("gauntlet", "bench", "run", "simulator-sweep")
    assert rerun.command[-2:] == ("--point", "random/concurrency=16")
    file = tmp_path / "reruns.json"
    file.write_text(json_text(plan))
    assert load_json_model(file, RerunPlan) == plan


def test_the_settings_of_the_command_make_a_comparison_of_a_nightly_recipe():
    (rerun,) = plan_reruns(night_of(29), alarms(recipe="qwen3_5-h200", point="")).reruns
    words = list(rerun.command)
    settings = [words[n + 1] for n, word in enumerate(words) if word == "--set"]
    recipe = load_recipe("qwen3_5-h200", parse_settings(settings))
    assert recipe.comparison.candidate == {"engine.commit": commit_of(29)}
    assert (recipe.blocks.min, recipe.blocks.max) == (2, 2)


def test_alarms_of_one_place_share_a_rerun():
    twice = [*alarms(), *alarms()]
    assert len(plan_reruns(night_of(29), twice).reruns[0].alerts) == 2
    assert len(plan_reruns(night_of(29), twice).reruns) == 1


def test_reruns_that_show_the_loss_confirm_it_and_blame():
    (finding,) = answer(alarms(), [session([10.6, 10.5, 10.7], [10.0, 10.1, 9.9])], 1.0)
    assert (finding.kind, finding.blocking) == ("regression", True)
    assert finding.reason.startswith("confirmed by 3 and 3 reruns: +6.0 %")
    assert "0000" in finding.reason
    assert (finding.n_before, finding.n_after) == (3, 3)


def test_reruns_that_show_nothing_take_the_alarm_back():
    (finding,) = answer(alarms(), [session([10.0, 10.1, 9.9], [10.0, 10.1, 9.9])], 1.0)
    assert (finding.kind, finding.blocking, finding.open) == ("not-reproduced", False, False)


def test_noisy_reruns_leave_it_open():
    (finding,) = answer(alarms(), [session([10.0, 11.5, 10.9], [10.0, 11.0, 9.0])], 1.0)
    assert finding.kind == "provisional"
    assert "leave it open" in finding.reason


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(session([12.0] * 3, [10.0] * 3, metric="ttft_ms"), id="metric"),
        pytest.param(session([12.0] * 3, [10.0] * 3, series_id="s2"), id="series"),
        pytest.param(session([12.0], [10.0]), id="too-few"),
    ],
)
def test_what_does_not_answer_an_alarm_leaves_it(other):
    found = alarms()
    assert answer(found, [other], 1.0) == list(found)


def test_unchanged_builds_are_confirmed_in_one_of_a_hundred():
    dice = random.Random(3)
    made = 1000
    false = sum(
        confirm(
            [math.exp(dice.gauss(0, 0.01)) for _ in range(4)],
            [math.exp(dice.gauss(0, 0.01)) for _ in range(4)],
            noise_percent=1.0,
            alarm_percent=3.0,
            margin_percent=0.0,
        ).outcome
        == "confirmed"
        for _ in range(made)
    )
    assert false / made <= 0.02


def test_a_confirmation_is_the_same_upside_down():
    up = confirm([1.05, 1.06, 1.04], [1.0, 1.01, 0.99], noise_percent=1, alarm_percent=5,
                 margin_percent=1)  # fmt: skip
    down = confirm([1 / 1.05, 1 / 1.06, 1 / 1.04], [1.0, 1 / 1.01, 1 / 0.99], noise_percent=1,
                   alarm_percent=-5, margin_percent=1)  # fmt: skip
    assert up.outcome == down.outcome == "confirmed"
    assert up.p_value == pytest.approx(down.p_value)


def test_without_known_noise_students_law_decides():
    found = confirm([1.05, 1.06, 1.04], [1.0, 1.01, 0.99], noise_percent=None, alarm_percent=5,
                    margin_percent=1)  # fmt: skip
    assert found.method.startswith("Student")


@pytest.mark.parametrize("parent", [[1.0], [1.0, 0.0]], ids=["one", "zero"])
def test_values_that_have_no_logs_or_no_spread_are_refused(parent):
    with pytest.raises(ValueError, match="two positive values"):
        confirm([1.0, 1.0], parent, noise_percent=1.0, alarm_percent=5.0, margin_percent=1.0)
