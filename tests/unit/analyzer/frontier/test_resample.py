"""Intervals of frontiers: what is drawn together, and what few units may claim."""

import numpy as np
import pytest

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


@pytest.mark.parametrize("units", [2, 5, 6, 12])
def test_what_a_pair_shares_cancels(units):
    found = shift_of(pairs(units, shift=-0.08), hypervolume, alpha=ALPHA)
    assert found.effect == pytest.approx(-0.08, abs=0.01)
    assert found.n == units
    if units > 2:
        assert found.lower < -0.08 < found.upper < 0


def test_few_units_are_judged_by_student_s_t_and_many_by_a_bootstrap():
    few, many = (shift_of(pairs(n), hypervolume, alpha=ALPHA) for n in (5, 6))
    assert few.method == "Student's t over the log ratios of 5 pairs (too few for a bootstrap)"
    assert many.method.startswith("bootstrap of 6 pairs, 4000 draws, seed 0")
    assert few.p_value is not None
    assert few.detectable > 0


def test_the_same_data_give_the_same_interval():
    once, again = (shift_of(pairs(8), hypervolume, alpha=ALPHA) for _ in range(2))
    assert once == again
    other = shift_of(pairs(8), hypervolume, alpha=ALPHA, seed=1)
    assert other.effect == once.effect
    assert other.lower == pytest.approx(once.lower, abs=0.005)


@pytest.mark.parametrize("units", [1, 4, 8])
def test_a_side_against_itself_has_no_effect_and_no_width(units):
    side = pairs(units).baseline
    found = shift_of(Sides(baseline=side, candidate=side, paired=True), hypervolume, alpha=ALPHA)
    assert found.effect == 0.0
    if units > 1:
        assert (found.lower, found.upper) == (0.0, 0.0)
        assert found.p_value > 0.4


def test_one_pair_shows_no_noise():
    found = shift_of(pairs(1, shift=-0.5), hypervolume, alpha=ALPHA)
    assert (found.lower, found.upper, found.p_value) == (None, None, None)
    assert found.effect < -0.4


@pytest.mark.parametrize("units", [4, 8])
def test_noise_between_sessions_counts_where_sides_were_not_interleaved(units):
    rng = np.random.default_rng(5)
    sides = Sides(baseline=sample(rng, units), candidate=sample(rng, units), paired=False)
    quiet = shift_of(sides, hypervolume, alpha=ALPHA)
    loud = shift_of(sides, hypervolume, alpha=ALPHA, noise=0.05)
    assert loud.upper - loud.lower > 2 * (quiet.upper - quiet.lower)
    paired = pairs(units)
    assert shift_of(paired, hypervolume, alpha=ALPHA, noise=0.05) == shift_of(
        paired, hypervolume, alpha=ALPHA
    )


def test_a_sweep_with_a_hole_is_no_smaller_frontier():
    rng = np.random.default_rng(5)
    whole = sample(rng, 3)
    holed = sample(rng, 3)
    holed.interactivity[0, 2] = holed.throughput[0, 2] = np.nan
    found = shift_of(Sides(baseline=whole, candidate=holed, paired=False), hypervolume, alpha=ALPHA)
    assert found.effect == pytest.approx(0.0, abs=0.02)
    assert found.n == 5


def test_a_point_that_a_draw_lacks_counts_on_neither_side():
    sides = pairs(7)
    for side in (sides.baseline, sides.candidate):
        side.interactivity[1:, 2] = side.throughput[1:, 2] = np.nan
    found = shift_of(sides, hypervolume, alpha=ALPHA)
    assert abs(found.effect) < 0.05
    assert found.upper - found.lower < 0.2


def test_intervals_keep_their_level():
    """Of 300 unchanged builds with six pairs each, about 5 % on either side."""
    found = [
        shift_of(pairs(6, seed=seed), hypervolume, alpha=0.05, draws=1000) for seed in range(300)
    ]
    assert 3 <= sum(each.lower > 0 for each in found) <= 30
    assert 3 <= sum(each.upper < 0 for each in found) <= 30
    assert sum(each.p_value < 0.05 for each in found) <= 30
