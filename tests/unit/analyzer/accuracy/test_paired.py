import math

import numpy as np
import pytest
from answer_factory import answer
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from gauntlet.analyzer.accuracy.floor import discordance_floor
from gauntlet.analyzer.accuracy.paired import (
    binary_drop,
    by_eye,
    clustered_drop,
    detectable_drop,
    estimate_drop,
    least_half_width,
    sign_flip_p,
)
from gauntlet.analyzer.accuracy.pairing import Pair, Pairing
from gauntlet.analyzer.accuracy.stratified import estimate_strata
from gauntlet.core.errors import UsageError

SCORES = st.sampled_from([0.0, 1.0])
BOTH = st.lists(st.tuples(SCORES, SCORES), min_size=2, max_size=60)


def pairs_of(scores, cluster=None, stratum=None):
    return [
        Pair(
            baseline=answer(
                i,
                before,
                cluster=cluster(i) if cluster else "",
                stratum=stratum(i) if stratum else "",
            ),
            candidate=answer(i, after),
            before=before,
            after=after,
        )
        for i, (before, after) in enumerate(scores)
    ]


def test_mcnemar_is_exact_and_tango_s_limits_solve_the_score_equation():
    found = binary_drop(9, 1, 44, 0.025)
    assert found.p_drop == pytest.approx(reference.binomtest(9, 10, alternative="greater").pvalue)
    assert found.p_two_sided == pytest.approx(reference.binomtest(9, 10).pvalue)
    assert found.effect == pytest.approx(8 / 44)
    z = reference.norm.ppf(0.975)
    for limit in (found.lower, found.upper):
        assert _score(9, 1, 44, limit) == pytest.approx(z, abs=1e-4)


def _score(losses, gains, n, delta):
    """Size of the score statistic at ``delta``, its nuisance share found by search."""
    shares = np.linspace(max(0.0, -delta), (1 - abs(delta)) / 2 + 1e-9, 200_001)[1:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = (
            gains * np.log(shares)
            + losses * np.log(shares + delta)
            + (n - losses - gains) * np.log(1 - 2 * shares - delta)
        )
    best = shares[np.nanargmax(logs)]
    spread = n * (2 * best + delta * (1 - delta))
    return abs(losses - gains - n * delta) / math.sqrt(spread)


@given(BOTH)
def test_swapping_the_sides_flips_the_drop(scores):
    there = estimate_drop(pairs_of(scores), 0.05)
    back = estimate_drop(pairs_of([(after, before) for before, after in scores]), 0.05)
    assert back.effect == pytest.approx(-there.effect)
    assert back.upper == pytest.approx(-there.lower, abs=1e-6)
    assert (back.p_drop, back.losses) == (pytest.approx(there.p_gain), there.gains)


@given(BOTH, st.randoms(use_true_random=False))
def test_the_order_of_questions_does_not_matter(scores, random):
    mixed = list(scores)
    random.shuffle(mixed)
    assert estimate_drop(pairs_of(mixed), 0.05) == estimate_drop(pairs_of(scores), 0.05)


@given(st.integers(0, 30), st.integers(0, 30), st.integers(80, 200), st.integers(1, 500))
def test_equal_answers_shrink_the_drop_and_leave_the_p_value(losses, gains, n, more):
    few, many = binary_drop(losses, gains, n, 0.05), binary_drop(losses, gains, n + more, 0.05)
    assert abs(many.effect) <= abs(few.effect)
    assert many.upper - many.lower < few.upper - few.lower
    assert many.p_drop == few.p_drop


def test_one_answer_to_a_cluster_is_the_paired_t():
    drops = [0.2, -0.1, 0.4, 0.0, 0.1, 0.3]
    found = clustered_drop(drops, list("abcdef"), 0.025)
    expected = reference.ttest_1samp(drops, 0, alternative="greater")
    assert found.p_drop == pytest.approx(expected.pvalue)
    half = reference.t.ppf(0.975, 5) * np.std(drops, ddof=1) / math.sqrt(6)
    wanted = max(half, least_half_width(6, 0.025))
    assert found.upper == pytest.approx(min(1.0, 0.15 + wanted))


def test_repeats_of_a_question_add_no_certainty():
    once = clustered_drop([1, -1, 1, 0, 0, 1, 0, 0] * 5, list(map(str, range(40))), 0.05)
    thrice = clustered_drop(
        np.repeat([1, -1, 1, 0, 0, 1, 0, 0] * 5, 3), np.repeat(range(40), 3).astype(str), 0.05
    )
    assert (thrice.n, thrice.units) == (120, 40)
    assert (thrice.lower, thrice.upper) == (
        pytest.approx(once.lower),
        pytest.approx(once.upper),
    )
    assert thrice.p_drop == pytest.approx(once.p_drop)
    assert "clusters" in thrice.method


def test_the_clustered_error_is_miller_s():
    drops, clusters = np.array([1.0, 1, 0, 0, -1, 0, 1]), list("aabbccd")
    mean = drops.mean()
    sums = [sum(d - mean for d, c in zip(drops, clusters, strict=True) if c == g) for g in "abcd"]
    error = math.sqrt(4 / 3 * sum(s * s for s in sums)) / 7
    assert clustered_drop(drops, clusters, 0.05).error == pytest.approx(error)


@given(st.integers(0, 25), st.integers(0, 25))
def test_flipping_single_answers_is_mcnemar(losses, gains):
    sizes = np.ones(losses + gains, dtype=int)
    expected = binary_drop(losses, gains, 60, 0.05).p_drop
    assert sign_flip_p(sizes, losses - gains) == pytest.approx(expected)


def test_flips_of_clusters_are_counted_exactly():
    # Signs of 3, 2 and 1: eight sums, of which 6 and 4 are at least 4.
    assert sign_flip_p(np.array([3, 2, 1]), 4) == pytest.approx(2 / 8)


@pytest.mark.parametrize(
    ("drops", "clusters"),
    [([0.0, 0.0, 0.0], "abc"), ([0.5, 0.5], "ab"), ([1.0], "a"), ([0.25, 0.25], "aa")],
    ids=["nothing moved", "all moved alike", "one", "one cluster"],
)
def test_without_spread_there_is_still_an_interval(drops, clusters):
    found = clustered_drop(drops, list(clusters), 0.05)
    assert found.lower < found.effect < found.upper or found.upper == 1.0
    assert 0 < found.p_drop <= 1
    assert found.upper > 0.3


def test_no_pair_is_no_estimate():
    with pytest.raises(ValueError, match="no pair"):
        estimate_drop([], 0.05)


def test_two_scores_by_eye_see_far_less():
    paired = binary_drop(26, 26, 1319, 0.05)
    assert 100 * detectable_drop(paired, 0.025, 0.8) == pytest.approx(1.53, abs=0.01)
    scores = [(1.0, 1.0)] * 1095 + [(0.0, 0.0)] * 172 + [(1.0, 0.0), (0.0, 1.0)] * 26
    seen = by_eye(pairs_of(scores), 0.025)
    assert 100 * 2.8016 * seen.error == pytest.approx(3.9, abs=0.1)
    assert seen.upper > binary_drop(26, 26, 1319, 0.025).upper


def test_where_nothing_differs_some_losses_would_still_be_needed():
    none = binary_drop(0, 0, 400, 0.05)
    least = detectable_drop(none, 0.05, 0.9)
    assert least == pytest.approx((1.645 + 1.2816) ** 2 / 400, rel=1e-3)
    # So many expected losses do show in nine of ten cases: five losses are significant.
    assert reference.poisson.sf(4, 400 * least) > 0.9
    assert detectable_drop(binary_drop(0, 0, 1, 0.05), 0.05, 0.9) == 1.0


def strata_pairs():
    scores = {"a": [(1, 0)] * 6 + [(0, 1)] * 2 + [(1, 1)] * 92, "b": [(1, 1)] * 20 + [(1, 0)]}
    return [
        pair
        for name, rows in scores.items()
        for pair in pairs_of(
            [(float(x), float(y)) for x, y in rows], stratum=lambda _, name=name: name
        )
    ]


def test_weights_by_size_count_each_question_alike():
    pairs = strata_pairs()
    total, strata = estimate_strata(pairs, 0.05, "size")
    pooled = binary_drop(7, 2, len(pairs), 0.05)
    assert total.effect == pytest.approx(pooled.effect)
    assert total.p_drop == pytest.approx(pooled.p_drop)
    assert [s.name for s in strata] == ["a", "b"]
    assert sum(s.weight for s in strata) == pytest.approx(1)


def test_equal_weights_average_categories_and_their_errors():
    total, (a, b) = estimate_strata(strata_pairs(), 0.05, "equal")
    assert total.effect == pytest.approx((a.drop.effect + b.drop.effect) / 2)
    assert total.error == pytest.approx(math.hypot(a.drop.error, b.drop.error) / 2)
    assert total.lower < total.effect < total.upper
    mirrored = [
        Pair(baseline=p.baseline, candidate=p.candidate, before=p.after, after=p.before)
        for p in strata_pairs()
    ]
    back, _ = estimate_strata(mirrored, 0.05, "equal")
    assert (back.effect, back.upper) == (pytest.approx(-total.effect), pytest.approx(-total.lower))


@pytest.mark.parametrize(
    ("weights", "match"),
    [("sizes", "did you mean 'size'"), ({"a": 1.0}, "none for b"), ({"a": -1, "b": 2}, "above 0")],
    ids=["unknown", "missing", "negative"],
)
def test_weights_that_do_not_fit_are_refused(weights, match):
    with pytest.raises(UsageError, match=match):
        estimate_strata(strata_pairs(), 0.05, weights)


def test_answers_without_categories_cannot_be_weighed():
    with pytest.raises(UsageError, match="no categories"):
        estimate_strata(pairs_of([(1.0, 1.0)] * 3), 0.05, "size")


def test_coverage_of_the_stratified_interval():
    rng = np.random.default_rng(4)
    outside = 0
    for _ in range(300):
        rows = []
        for name, n, true in (("a", 60, 0.05), ("b", 120, 0.02), ("c", 30, 0.0)):
            draw = rng.random(n)
            d = np.where(draw < 0.05 + true, 1, np.where(draw < 0.08 + true, -1, 0))
            scores = [(float(x >= 0), float(x <= 0)) for x in d]
            rows += pairs_of(scores, stratum=lambda _, name=name: name)
        # Losses come with 5 % more than the drop, gains with 3 %.
        truth = (60 * 0.07 + 120 * 0.04 + 30 * 0.02) / 210
        found, _ = estimate_strata(rows, 0.025, "size")
        outside += not found.lower <= truth <= found.upper
    assert outside / 300 < 0.08


def pairing(drops):
    scores = [(1.0, 1.0 - d) if d >= 0 else (0.0, 1.0) for d in drops]
    return Pairing(pairs=tuple(pairs_of(scores)), asked=len(drops))


def test_the_floor_is_how_often_the_baseline_differs_from_itself():
    again, candidate = pairing([1, -1, 0, 0] * 25), pairing([1, -1, 1, 1] * 25)
    found = discordance_floor(again, candidate, 0.05)
    assert (found.share, found.candidate_share, found.n) == (0.5, 1.0, 100)
    assert found.lower < 0.5 < found.upper
    assert found.is_above(0.05)
    assert not discordance_floor(again, again, 0.05).is_above(0.05)


def test_a_baseline_that_repeats_itself_has_a_floor_of_zero_with_an_upper_bound():
    found = discordance_floor(pairing([0] * 50), pairing([0] * 49 + [1]), 0.05)
    assert (found.share, found.lower) == (0.0, 0.0)
    assert found.upper == pytest.approx(1 - 0.05 ** (1 / 50))
    assert discordance_floor(pairing([]), pairing([0]), 0.05) is None
