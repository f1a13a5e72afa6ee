"""Effects: estimates, errors, invariances; validity by simulation."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from measurements import TPOT, measured, session_of
from scipy import stats

from gauntlet.analyzer.comparison.effects import (
    Noise,
    PairKey,
    Part,
    SeparateSides,
    Turns,
    combined_df,
    interleaved_effect,
    separate_effect,
    turns_of,
)
from gauntlet.analyzer.comparison.summary import summary_effect

ASSUMED = Noise(sd=0.01, source="assumed")


def pairs_of(blocks):
    """Pairs of blocks given as log values in the order A B B A."""
    pairs = {}
    for number, (first, second, third, fourth) in enumerate(np.asarray(blocks).tolist()):
        pairs[PairKey("s", 2 * number)] = Turns(first, second)
        pairs[PairKey("s", 2 * number + 1)] = Turns(fourth, third)
    return pairs


values = st.floats(-0.3, 0.3).map(lambda value: round(value, 6))
sessions = st.lists(st.tuples(values, values, values, values), min_size=1, max_size=8)


def test_block_levels_are_least_squares():
    blocks = np.random.default_rng(1).normal(0, 1, (3, 4))
    effect = interleaved_effect(pairs_of(blocks))
    levels = np.kron(np.eye(3), np.ones((4, 1)))
    side = np.tile([0, 1, 1, 0], 3)[:, None]
    design = np.hstack([levels, side])
    solved, squares, *_ = np.linalg.lstsq(design, blocks.ravel(), rcond=None)
    df = 4 * 3 - 3 - 1
    covariance = np.linalg.inv(design.T @ design) * squares[0] / df
    assert effect.df == df
    assert effect.log_ratio == pytest.approx(solved[-1])
    assert effect.error == pytest.approx(math.sqrt(covariance[-1, -1]))


def test_pairs_that_differ_get_levels_of_their_own():
    random = np.random.default_rng(2)
    blocks = random.normal(0, 0.001, (4, 4)) + random.normal(0, 1, (4, 2)).repeat(2, axis=1)
    effect = interleaved_effect(pairs_of(blocks))
    differences = [turns.candidate - turns.baseline for turns in pairs_of(blocks).values()]
    expected = stats.ttest_1samp(differences, 0)
    assert effect.df == 7
    assert "a level per pair" in effect.method
    assert effect.p_value(1.0) == pytest.approx(
        expected.pvalue / 2 if expected.statistic > 0 else 1 - expected.pvalue / 2
    )


def test_incomplete_blocks_have_a_level_per_pair():
    pairs = pairs_of(np.random.default_rng(3).normal(0, 1, (3, 4)))
    odd = {key: turns for key, turns in pairs.items() if key.pair % 2 == 0}
    assert interleaved_effect(odd).df == 2
    del pairs[PairKey("s", 5)]
    assert interleaved_effect(pairs).df == 4 + 2


def test_one_pair_has_an_effect_and_no_error():
    effect = interleaved_effect({PairKey("s", 0): Turns(0.0, 0.1)})
    assert (effect.error, effect.n) == (None, 1)
    assert effect.p_value(1.0) == 1.0
    assert math.isinf(effect.reach(0.01))
    with pytest.raises(ValueError, match="at least one pair"):
        interleaved_effect({})


@given(sessions)
def test_swapping_the_sides_turns_the_sign(blocks):
    pairs = pairs_of(blocks)
    one = interleaved_effect(pairs)
    other = interleaved_effect({key: Turns(*reversed(turns)) for key, turns in pairs.items()})
    assert other.log_ratio == -one.log_ratio
    assert (other.error, other.df) == (pytest.approx(one.error), one.df)
    assert other.p_value(1.0) == pytest.approx(one.p_value(-1.0))


@given(sessions, st.floats(-5, 5), st.permutations(range(16)))
def test_unit_session_level_and_order_of_input_do_not_matter(blocks, level, order):
    # Where squares vanish, rounding decides between two equal models.
    assume(np.ptp(blocks) > 0.01)
    plain = session_of(np.ravel(blocks).tolist(), level=10.0)
    scaled = session_of(np.ravel(blocks).tolist(), level=10.0 * math.exp(level))
    shuffled = [scaled[index] for index in order if index < len(scaled)]
    shuffled += [each for each in scaled if each not in shuffled]
    one = interleaved_effect(turns_of(plain, TPOT))
    other = interleaved_effect(turns_of(shuffled, TPOT))
    assert other.log_ratio == pytest.approx(one.log_ratio, abs=1e-9)
    assert other.error == pytest.approx(one.error, rel=1e-6, abs=1e-9)


@given(sessions, st.lists(values, min_size=8, max_size=8))
def test_a_level_of_each_block_does_not_matter(blocks, levels):
    assume(np.ptp(blocks) > 0.01)
    moved = np.asarray(blocks) + np.asarray(levels[: len(blocks)])[:, None]
    one, other = interleaved_effect(pairs_of(blocks)), interleaved_effect(pairs_of(moved))
    assert other.log_ratio == pytest.approx(one.log_ratio, abs=1e-9)
    assert other.error == pytest.approx(one.error, rel=1e-6, abs=1e-9)


def noisy(random, kind, shape):  # noqa: PLR0911 -- one line for each kind
    """Turns of unchanged builds, (session, block, turn), by kinds of noise."""
    noise = random.normal(0, 0.015, shape)
    count, blocks, _ = shape
    if kind == "drift":
        return noise + np.linspace(0, 0.04, blocks * 4).reshape(blocks, 4)
    if kind == "pairs":
        return noise + random.normal(0, 0.015, (count, blocks, 2)).repeat(2, axis=2)
    if kind == "walk":
        return noise + np.cumsum(random.normal(0, 0.0075, (count, blocks * 4)), 1).reshape(shape)
    if kind == "heavy":
        return random.standard_t(3, shape) * 0.01
    if kind == "lognormal":
        return np.exp(random.normal(0, 1, shape)) * 0.01
    if kind == "memory":
        flat = random.normal(0, 1, (count, blocks * 4))
        for turn in range(1, blocks * 4):
            flat[:, turn] = 0.5 * flat[:, turn - 1] + math.sqrt(0.75) * flat[:, turn]
        return 0.015 * flat.reshape(shape)
    return noise


@pytest.mark.parametrize("blocks", [2, 6])
@pytest.mark.parametrize(
    "kind", ["plain", "drift", "pairs", "walk", "heavy", "lognormal", "memory"]
)
def test_false_alarms_stay_at_the_level(kind, blocks):
    random = np.random.default_rng(8)
    made = noisy(random, kind, (4000, blocks, 4))
    alarms = [interleaved_effect(pairs_of(each)).p_value(1.0) < 0.05 for each in made]
    # 5 % with three standard errors, and the tenth part that the choice of a model may cost.
    assert np.mean(alarms) < 0.05 * 1.1 + 3 * math.sqrt(0.05 * 0.95 / 4000)


def test_sides_that_were_not_interleaved_carry_the_noise_of_sessions():
    effect = separate_effect(SeparateSides(baseline=[10.0], candidate=[10.5], noise=ASSUMED))
    assert effect.error == pytest.approx(math.sqrt(2) * 0.01)
    assert math.isinf(effect.df)
    many = separate_effect(
        SeparateSides(baseline=[10.0] * 1000, candidate=[10.5] * 1000, noise=ASSUMED)
    )
    assert many.error == pytest.approx(effect.error)
    nights = separate_effect(
        SeparateSides(baseline=[10.0], candidate=[10.5], noise=ASSUMED, sessions=(4, 4))
    )
    assert nights.error == pytest.approx(effect.error / 2)


def test_noise_between_repetitions_adds_to_it():
    baseline, candidate = [10.0, 10.2, 9.9], [10.4, 10.5, 10.1]
    sides = SeparateSides(
        baseline=baseline, candidate=candidate, noise=Noise(sd=1e-9, df=9, source="9 nights")
    )
    expected = stats.ttest_ind(np.log(candidate), np.log(baseline), equal_var=True)
    effect = separate_effect(sides)
    assert effect.df == pytest.approx(4)
    assert 2 * effect.p_value(1.0) == pytest.approx(expected.pvalue)
    with pytest.raises(ValueError, match="each side"):
        SeparateSides(baseline=[], candidate=[1.0], noise=ASSUMED)


def test_degrees_of_freedom_of_a_sum():
    assert combined_df([Part(1.0, 5), Part(1.0, 5)]) == pytest.approx(10)
    assert combined_df([Part(1.0, 5), Part(1e-12, 1)]) == pytest.approx(5)
    assert math.isinf(combined_df([Part(1.0, math.inf)]))


def test_unusable_values_are_no_turns():
    turns = [
        measured(side, pair, values={TPOT: value})
        for pair, value in enumerate([None, math.nan, 0.0, -1.0, math.inf, 10.0])
        for side in ("baseline", "candidate")
    ]
    assert list(turns_of(turns, TPOT)) == [PairKey("s", 5)]


def test_a_summary_keeps_what_points_share():
    """Points that share their turns' noise know no more together than one of them."""
    blocks = np.random.default_rng(5).normal(0, 0.01, (6, 4))
    alone = interleaved_effect(pairs_of(blocks))
    together = summary_effect([pairs_of(blocks + level) for level in (0, 1, 2)], 0.2)
    assert together.error == pytest.approx(alone.error)
    assert together.log_ratio == pytest.approx(alone.log_ratio)


def test_a_summary_of_independent_sessions_knows_more():
    def session(name, seed):
        blocks = np.random.default_rng(seed).normal(0, 0.01, (6, 4))
        return {PairKey(name, key.pair): turns for key, turns in pairs_of(blocks).items()}

    places = [session(name, seed) for seed, name in enumerate("abcd")]
    effects = [interleaved_effect(place) for place in places]
    together = summary_effect(places, 0.2)
    assert together.log_ratio == pytest.approx(np.mean([each.log_ratio for each in effects]))
    expected = math.sqrt(sum(each.error**2 for each in effects)) / 4
    assert together.error == pytest.approx(expected)
    assert together.df > max(each.df for each in effects)


@pytest.mark.parametrize(("share", "error"), [(0.0, 0.5), (0.2, math.sqrt(0.4)), (1.0, 1.0)])
def test_sessions_noise_that_points_share_does_not_average_out(share, error):
    sides = SeparateSides(baseline=[1.0], candidate=[1.0], noise=ASSUMED)
    together = summary_effect([sides] * 4, share)
    assert together.error == pytest.approx(error * math.sqrt(2) * 0.01)
