"""Group-sequential levels against published bounds, against simulation, and their order."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gauntlet.analyzer.comparison.looks import Budget, nominal_level, nominal_levels, spent
from gauntlet.perf_eval.judgement import Blocks


def quantiles(levels):
    return [float(stats.norm.isf(level)) for level in levels]


@pytest.mark.parametrize(
    ("looks", "bounds"),
    [
        # Spending bounds of O'Brien and Fleming's type, one-sided 2.5 %, as published.
        (2, [2.963, 1.969]),
        (3, [3.710, 2.511, 1.993]),
        (4, [4.333, 2.963, 2.359, 2.014]),
        (5, [4.877, 3.357, 2.680, 2.290, 2.031]),
    ],
)
def test_the_bounds_are_the_published_ones(looks, bounds):
    shares = [look / looks for look in range(1, looks + 1)]
    assert quantiles(nominal_levels(0.025, shares)) == pytest.approx(bounds, abs=0.001)


@pytest.mark.parametrize(
    ("error", "shares"),
    [
        pytest.param(0.05, (2 / 3, 1.0), id="two-looks"),
        pytest.param(0.05, tuple(k / 8 for k in range(2, 9)), id="seven-looks"),
        pytest.param(0.2, (0.1, 0.15, 0.9), id="uneven-and-not-at-the-end"),
    ],
)
def test_paths_without_a_change_cross_as_often_as_was_allowed(error, shares):
    random = np.random.default_rng(4)
    steps = np.sqrt(np.diff([0.0, *shares]))
    paths = np.cumsum(random.normal(0, 1, (200_000, len(shares))) * steps, axis=1)
    crossed = paths / np.sqrt(shares) > np.asarray(quantiles(nominal_levels(error, shares)))
    assert crossed.any(axis=1).mean() == pytest.approx(spent(error, shares[-1]), rel=0.05)


def test_one_look_at_everything_has_the_whole_level():
    assert nominal_level(0.01, (1.0,)) == pytest.approx(0.01)
    assert Budget(false_alarm_rate=0.01).overall(0.003) == 0.003


def test_a_very_early_look_asks_for_nearly_everything():
    level = Budget(shares=(0.001,)).level()
    assert 0 <= level < 1e-100
    assert Budget(shares=(1e-6,)).level() == 0.0


@given(
    st.floats(1e-12, 0.4),
    st.sampled_from([(0.25,), (2 / 3, 1.0), tuple(k / 8 for k in range(2, 9))]),
)
def test_overall_p_values_undo_levels(error, shares):
    budget = Budget(shares=shares)
    assert budget.overall(budget.level(error)) == pytest.approx(error, rel=2e-3)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=5).map(sorted))
def test_overall_p_values_keep_the_order(p_values):
    budget = Budget(shares=(0.5, 0.75, 1.0))
    found = [budget.overall(p) for p in p_values]
    assert found == sorted(found)
    assert all(0 <= p <= 1 for p in found)


def test_student_s_t_at_nominal_levels_keeps_the_error_in_small_sessions():
    random = np.random.default_rng(6)
    crossed = np.zeros(40_000, dtype=bool)
    values = random.normal(0, 1, (40_000, 16))
    looks = Blocks(min=2, max=8).looks(8)
    for share, level in zip(looks, nominal_levels(0.05, looks), strict=True):
        seen = values[:, : round(16 * share)]
        t = seen.mean(axis=1) / (seen.std(axis=1, ddof=1) / math.sqrt(seen.shape[1]))
        crossed |= stats.t.sf(t, seen.shape[1] - 1) < level
    assert 0.044 < crossed.mean() < 0.056


@pytest.mark.parametrize(
    ("done", "looks"),
    [(1, (0.25,)), (2, (0.5,)), (3, (0.5, 0.75)), (4, (0.5, 0.75, 1.0)), (9, (0.5, 0.75, 1.0))],
)
def test_looks_of_a_session(done, looks):
    assert Blocks(min=2, max=4).looks(done) == looks


@pytest.mark.parametrize("shares", [(), (0.5, 0.5), (0.7, 0.2), (0.5, 1.1), (0.0, 1.0)])
def test_shares_that_are_none_are_refused(shares):
    with pytest.raises(ValueError, match="rise within"):
        Budget(shares=shares)


@pytest.mark.parametrize("rate", [0.0, 0.5, -1.0, math.nan])
def test_rates_that_are_none_are_refused(rate):
    with pytest.raises(ValueError, match="false_alarm_rate"):
        Budget(false_alarm_rate=rate)
