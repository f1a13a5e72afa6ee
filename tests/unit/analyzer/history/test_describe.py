"""Shapes of series: what is told apart, with which numbers."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.analyzer.history.describe import describe

BLAMING = {"step", "recovery"}


def noise(seed, count=60, sigma=0.01):
    return 100 * (1 + np.random.default_rng(seed).normal(0, sigma, count))


def kinds(values):
    return [change.kind for change in describe(values).changes]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        pytest.param([], "nothing was measured", id="empty"),
        pytest.param([math.nan] * 5, "nothing was measured", id="all-missing"),
        pytest.param([4.0], "one point", id="one-point"),
        pytest.param([4.0] * 9, "constant: no point differs from another", id="constant"),
        pytest.param([4.0, 5.0, 6.0], "3 points: fewer than 10 show no step", id="short"),
    ],
)
def test_series_that_cannot_be_judged_say_why(values, reason):
    shape = describe(values)
    assert (shape.changes, shape.alarm, shape.reason) == ((), None, reason)
    assert shape.n == sum(not math.isnan(value) for value in values)


def test_a_step_has_its_effect_with_interval_and_the_points_that_hold_it():
    values = noise(1)
    values[25:] *= 1.05
    (change,) = describe(values).changes
    assert change.kind == "step"
    assert change.first <= 25 <= change.last
    assert change.lower_percent < 5 < change.upper_percent
    assert change.upper_percent - change.lower_percent < 3
    assert (change.n_before, change.n_after) == (change.index, 60 - change.index)
    assert change.p_value < 1e-4
    assert change.after / change.before == pytest.approx(1 + change.effect_percent / 100)


def test_the_interval_of_a_step_holds_its_size():
    inside = 0
    for seed in range(80):
        values = noise(seed, sigma=0.02)
        values[30:] *= 1.08
        steps = [change for change in describe(values).changes if change.kind == "step"]
        inside += len(steps) == 1 and steps[0].lower_percent <= 8 <= steps[0].upper_percent
    assert inside >= 0.85 * 80


def test_a_step_back_is_a_recovery():
    values = noise(2)
    values[20:40] *= 1.06
    step, recovery = (change for change in describe(values).changes if change.kind in BLAMING)
    assert (step.kind, recovery.kind) == ("step", "recovery")
    assert step.effect_percent > 0 > recovery.effect_percent


def test_two_steps_in_one_direction_are_no_recovery():
    values = noise(3)
    values[20:] *= 1.06
    values[40:] *= 1.06
    assert [kind for kind in kinds(values) if kind in BLAMING] == ["step", "step"]


def test_a_ramp_is_a_drift_and_blames_no_point():
    values = noise(4) * (1 + 0.06 * np.clip((np.arange(60) - 10) / 40, 0, 1))
    (change,) = [change for change in describe(values).changes if change.kind != "outlier"]
    assert change.kind == "drift"
    assert change.effect_percent == pytest.approx(6, abs=1.5)
    assert change.end is not None
    assert change.end - change.index >= 20


def test_a_slow_lean_of_the_whole_series_is_a_drift():
    values = noise(5, 30, sigma=0.005) * (1 + 0.2 * np.arange(30) / 30)
    (change,) = describe(values).changes
    assert change.kind == "drift"
    assert (change.first, change.last) == (0, 29)
    assert change.lower_percent > 10


def test_ten_thousand_points_are_described():
    lean = noise(11, 10_000) * (1 + 0.01 * np.arange(10_000) / 10_000)
    shape = describe(lean)
    assert [change.kind for change in shape.changes if change.kind != "outlier"] == ["drift"]
    assert shape.n == 10_000


def test_one_far_point_is_an_outlier_and_no_step():
    values = noise(6)
    values[30] *= 1.3
    (change,) = describe(values).changes
    assert (change.kind, change.index, change.end) == ("outlier", 30, 31)
    assert change.effect_percent == pytest.approx(30, abs=4)


def test_six_far_points_are_a_step_and_a_recovery():
    values = noise(7)
    values[30:36] *= 1.06
    found = describe(values).changes
    assert [change.kind for change in found if change.kind != "variance"] == ["step", "recovery"]


def test_a_wider_spread_is_a_variance_change_and_no_step():
    values = noise(8, 80, sigma=0.005)
    values[40:] = noise(9, 40, sigma=0.02)
    (change,) = [change for change in describe(values).changes if change.kind != "outlier"]
    assert change.kind == "variance"
    assert change.first <= 40 <= change.last
    assert change.effect_percent > 100


@pytest.mark.parametrize("points", [1, 2])
def test_the_last_points_raise_an_alarm_that_names_suspect_and_parent(points):
    values = noise(10)
    values[-points:] *= 1.06
    alarm = describe(values).alarm
    assert alarm is not None
    assert (alarm.index, alarm.parent) == (60 - alarm.points, 59 - alarm.points)
    assert alarm.points == points
    assert alarm.lower_percent < 6 < alarm.upper_percent


def test_an_alarm_counts_missing_points():
    values = noise(10)
    values[-1] *= 1.08
    with_hole = np.insert(values, 59, math.nan)
    alarm = describe(with_hole).alarm
    assert alarm is not None
    assert (alarm.index, alarm.parent) == (60, 58)


def test_few_unchanged_series_alarm_at_their_end():
    alarms = sum(describe(noise(seed)).alarm is not None for seed in range(300))
    assert alarms <= 8


def test_a_level_without_noise_alarms_at_any_difference():
    assert describe([5.0] * 20 + [5.0]).alarm is None
    alarm = describe([5.0] * 20 + [5.5]).alarm
    assert alarm is not None
    assert math.isfinite(alarm.z)


@given(st.lists(st.floats(-1e6, 1e6, allow_subnormal=False) | st.just(math.nan), max_size=50))
def test_every_series_is_described_in_finite_numbers(values):
    shape = describe(values)
    for change in shape.changes:
        assert 0 <= change.first <= change.index <= change.last < len(values)
        numbers = (change.effect_percent, change.lower_percent, change.upper_percent, change.before)
        assert all(map(math.isfinite, (*numbers, change.after, change.p_value)))
        assert change.lower_percent <= change.effect_percent <= change.upper_percent
        assert change.method
    if shape.alarm is not None:
        assert shape.alarm.parent < shape.alarm.index < len(values)
        assert math.isfinite(shape.alarm.z)
