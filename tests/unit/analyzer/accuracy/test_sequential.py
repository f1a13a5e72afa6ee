import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from gauntlet.analyzer.accuracy.sequential import (
    EARLY_SAME,
    Sequential,
    evidence_paths,
    in_random_order,
    last_look_p,
)
from gauntlet.analyzer.stats import paired_share

MARGIN, ALPHA, N = 0.02, 0.05, 1319
DIFFERENCES = st.lists(st.sampled_from([-1.0, 0.0, 1.0, 0.5]), min_size=1, max_size=80)


def answers(rng, differing, drop, n=N):
    share = rng.random(n)
    return np.where(share < (differing + drop) / 2, 1.0, np.where(share < differing, -1.0, 0.0))


def run(differences, **options):
    session = Sequential(margin=MARGIN, alpha=ALPHA, **options)
    for count, difference in enumerate(differences, start=1):
        if session.add(difference).decision != "open":
            return session.look, count
    return session.finish(), len(differences)


@given(DIFFERENCES)
def test_one_at_a_time_and_all_at_once_agree(differences):
    session = Sequential(margin=MARGIN, alpha=ALPHA)
    for difference in differences:
        session.add(difference)
    loss, safe = evidence_paths(differences, MARGIN)
    assert math.log(session.look.evidence_of_loss) == pytest.approx(max(0.0, loss.max()), abs=1e-9)
    assert math.log(session.look.evidence_of_none) == pytest.approx(max(0.0, safe.max()), abs=1e-9)
    assert session.look.items == len(differences)


@given(DIFFERENCES, st.floats(0, 1))
def test_neither_gambler_gains_in_expectation_at_the_boundary(past, share):
    """The bets are fair or worse under each hypothesis, whatever came before."""
    loss, safe = evidence_paths(past, MARGIN)
    for hypothesis, now, index in ((0.0, loss, 0), (MARGIN, safe, 1)):
        gains = share * (1 - hypothesis) / 2
        chances = {1.0: gains + hypothesis, -1.0: gains, 0.0: 1 - 2 * gains - hypothesis}
        expected = sum(
            chance * math.exp(evidence_paths([*past, d], MARGIN)[index][-1])
            for d, chance in chances.items()
        )
        assert expected == pytest.approx(math.exp(now[-1]))


@pytest.mark.parametrize("differing", [0.02, 0.06, 0.2], ids=lambda share: f"{share:.0%} differ")
def test_false_alarms_stay_below_the_level_however_often_one_looks(differing):
    rng = np.random.default_rng(100)
    alarms = passes = 0
    sessions = 600
    for _ in range(sessions):
        d = answers(rng, differing, 0.0)
        loss, _ = evidence_paths(d, MARGIN)
        last = last_look_p(int((d > 0).sum()), int((d != 0).sum()), ALPHA) <= ALPHA
        alarms += loss.max() >= -math.log(ALPHA) or last
        d = answers(rng, differing, MARGIN)
        _, safe = evidence_paths(d, MARGIN)
        counts = int((d > 0).sum()), int((d < 0).sum()), N
        last = paired_share(*counts, (1 - EARLY_SAME) * ALPHA).upper < MARGIN
        passes += safe.max() >= -math.log(EARLY_SAME * ALPHA) or last
    # Three standard errors above the level; the truth is below it.
    assert alarms / sessions < 0.05 + 3 * math.sqrt(0.05 * 0.95 / sessions)
    assert passes / sessions < 0.05 + 3 * math.sqrt(0.05 * 0.95 / sessions)


@pytest.mark.parametrize("differing", [0, 1, 7, 40, 120])
def test_the_last_look_spends_what_is_left_and_no_more(differing):
    p_values = [last_look_p(losses, differing, ALPHA) for losses in range(differing + 1)]
    assert p_values == sorted(p_values, reverse=True)
    spent = min([p for p in p_values if p <= ALPHA], default=0.0)
    ever = last_look_p(differing + 1, differing, ALPHA)
    assert 0 <= ever <= ALPHA
    assert spent <= ALPHA
    # Counting paths again by simulation of coins gives the same share of early wins.
    rng = np.random.default_rng(5)
    flips = rng.choice([1.0, -1.0], (3000, max(1, differing)))
    won = np.mean([evidence_paths(row, MARGIN)[0].max() >= -math.log(ALPHA) for row in flips])
    if differing:
        assert won == pytest.approx(ever, abs=0.015)


def test_the_last_look_is_close_to_the_exact_test():
    losses = next(k for k in range(54) if last_look_p(k, 53, ALPHA) <= ALPHA)
    exact = next(k for k in range(54) if reference.binom.sf(k - 1, 53, 0.5) <= ALPHA)
    assert exact <= losses <= exact + 1


def test_a_drop_is_found_early_and_an_unchanged_build_is_passed_early():
    rng = np.random.default_rng(11)
    drops = [run(answers(rng, 0.04, 0.02)) for _ in range(200)]
    assert sum(look.decision == "worse" for look, _ in drops) / 200 > 0.92
    assert np.mean([count for _, count in drops]) < 0.55 * N
    same = [run(answers(rng, 0.02, 0.0)) for _ in range(100)]
    assert sum(look.decision == "same" for look, _ in same) > 95
    assert np.mean([count for _, count in same]) < 0.5 * N


def test_a_small_loss_that_is_certain_is_not_worse_before_it_is_half_the_margin():
    session = Sequential(margin=0.5, alpha=ALPHA)
    for difference in [0.0] * 400 + [1.0] * 30:
        look = session.add(difference)
    assert look.evidence_of_loss > 20
    assert look.decision == "same"


def test_a_decision_stands():
    session = Sequential(margin=MARGIN, alpha=ALPHA)
    for _ in range(20):
        session.add(1.0)
    assert session.look.decision == "worse"
    for _ in range(5000):
        session.add(0.0)
    assert session.finish().decision == "worse"


def test_no_answers_decide_nothing():
    session = Sequential(margin=MARGIN)
    assert session.finish().decision == "open"
    assert session.look.drop == 0.0


def test_graded_scores_are_judged_too():
    rng = np.random.default_rng(3)
    lost, _ = run(np.clip(rng.normal(0.1, 0.1, 400), -1, 1))
    kept, _ = run(np.clip(rng.normal(0.0, 0.02, 400), -1, 1))
    assert (lost.decision, kept.decision) == ("worse", "same")
    unclear, _ = run(np.clip(rng.normal(0.01, 0.5, 50), -1, 1))
    assert unclear.decision == "open"


@pytest.mark.parametrize("difference", [1.5, -2.0, float("nan")])
def test_what_is_no_difference_of_scores_is_refused(difference):
    with pytest.raises(ValueError, match="between -1 and 1"):
        Sequential(margin=MARGIN).add(difference)


@pytest.mark.parametrize(("margin", "alpha"), [(0.0, 0.05), (1.0, 0.05), (0.02, 0.0), (0.02, 0.6)])
def test_shares_out_of_range_are_refused(margin, alpha):
    with pytest.raises(ValueError, match="shares above 0"):
        Sequential(margin=margin, alpha=alpha)


def test_the_order_is_random_and_the_same_for_one_seed():
    items = list(range(50))
    assert in_random_order(items, 1) == in_random_order(items, 1)
    assert in_random_order(items, 1) != in_random_order(items, 2)
    assert sorted(in_random_order(items, 1)) == items
