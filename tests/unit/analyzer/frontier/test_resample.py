"""Intervals of frontiers: what is drawn together, and what few units may claim."""

import numpy as np
import pytest

from gauntlet.analyzer.comparison.effects import LEAST_ERROR
from gauntlet.analyzer.frontier.geometry import hypervolume
from gauntlet.analyzer.frontier.resample import Sample, Sides, shift_of

BASE_X = np.log([50.0, 100.0, 200.0])
BASE_Y = np.log([5000.0, 4000.0, 2500.0])
ALPHA = 0.01


def sample(rng, units, *, shift=0.0, shared=0.0, noise=0.005):
    """Sweeps of ``units`` repetitions; ``shared`` is what all points of a unit have in common."""
    own = rng.normal(0, noise, (2, units, 3)) + shared
    return Sample(interactivity=BASE_X + own[0], throughput=BASE_Y + shift + own[1])


def pairs(units, *, shift=0.0, seed=1, noise=0.005):
    rng = np.random.default_rng(seed)
    machine = rng.normal(0, 0.05, (units, 1))
    return Sides(
        baseline=sample(rng, units, shared=machine, noise=noise),
        candidate=sample(rng, units, shift=shift, shared=machine, noise=noise),
        paired=True,
    )


def bounds(found, alpha=ALPHA):
    reach = found.reach(alpha)
    return found.log_ratio - reach, found.log_ratio + reach


@pytest.mark.parametrize("units", [2, 5, 6, 12])
def test_what_a_pair_shares_cancels(units):
    found = shift_of(pairs(units, shift=-0.08), hypervolume)
    assert found.log_ratio == pytest.approx(-0.08, abs=0.01)
    assert found.n == units
    if units > 2:
        lower, upper = bounds(found)
        assert lower < -0.08 < upper < 0


def test_few_units_are_judged_by_student_s_t_and_many_by_a_bootstrap():
    few, many = (shift_of(pairs(n), hypervolume) for n in (5, 6))
    assert few.method == "Student's t over the log ratios of 5 pairs (too few for a bootstrap)"
    assert many.method.startswith("bootstrap of 6 pairs, 4000 draws, seed 0")
    assert few.error > 0


def test_the_same_data_give_the_same_interval():
    once, again = (shift_of(pairs(8), hypervolume) for _ in range(2))
    assert once == again
    other = shift_of(pairs(8), hypervolume, seed=1)
    assert other.log_ratio == once.log_ratio
    assert other.error == pytest.approx(once.error, rel=0.1)


@pytest.mark.parametrize("units", [1, 4, 8])
def test_a_side_against_itself_has_no_effect_and_no_width(units):
    side = pairs(units).baseline
    found = shift_of(Sides(baseline=side, candidate=side, paired=True), hypervolume)
    assert found.log_ratio == 0.0
    if units > 1:
        assert found.error == LEAST_ERROR
        assert found.p_value(-1.0) > 0.4


def test_one_pair_shows_no_noise():
    found = shift_of(pairs(1, shift=-0.5), hypervolume)
    assert (found.error, found.p_value(-1.0)) == (None, 1.0)
    assert found.log_ratio < -0.4


@pytest.mark.parametrize("units", [4, 8])
def test_noise_between_sessions_counts_where_sides_were_not_interleaved(units):
    rng = np.random.default_rng(5)
    sides = Sides(baseline=sample(rng, units), candidate=sample(rng, units), paired=False)
    quiet = shift_of(sides, hypervolume)
    loud = shift_of(sides, hypervolume, noise=0.05)
    assert loud.reach(ALPHA) > 2 * quiet.reach(ALPHA)
    paired = pairs(units)
    assert shift_of(paired, hypervolume, noise=0.05) == shift_of(paired, hypervolume)


def test_a_sweep_with_a_hole_is_no_smaller_frontier():
    rng = np.random.default_rng(5)
    whole = sample(rng, 3)
    holed = sample(rng, 3)
    holed.interactivity[0, 2] = holed.throughput[0, 2] = np.nan
    found = shift_of(Sides(baseline=whole, candidate=holed, paired=False), hypervolume)
    assert found.log_ratio == pytest.approx(0.0, abs=0.02)
    assert found.n == 5


def test_a_point_that_a_draw_lacks_counts_on_neither_side():
    sides = pairs(7)
    for side in (sides.baseline, sides.candidate):
        side.interactivity[1:, 2] = side.throughput[1:, 2] = np.nan
    found = shift_of(sides, hypervolume)
    assert abs(found.log_ratio) < 0.05
    assert found.reach(ALPHA) < 0.1


def test_intervals_keep_their_level():
    """Of 300 unchanged builds with six pairs each, about 5 % on either side."""
    found = [shift_of(pairs(6, seed=seed), hypervolume, draws=1000) for seed in range(300)]
    limits = [bounds(each, 0.05) for each in found]
    assert 3 <= sum(lower > 0 for lower, _ in limits) <= 30
    assert 3 <= sum(upper < 0 for _, upper in limits) <= 30
    assert sum(each.p_value(-1.0) < 0.05 for each in found) <= 30
