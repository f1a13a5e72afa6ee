import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from gauntlet.analyzer.stats import benjamini_hochberg, more_failures, paired_share
from gauntlet.core.multiplicity import holm


def test_no_differing_answer_still_has_an_upper_bound():
    z = reference.norm.ppf(0.975)
    found = paired_share(0, 0, 400, 0.025)
    assert found.upper == pytest.approx(z**2 / (400 + z**2), rel=1e-6)
    assert found.lower == pytest.approx(-found.upper)
    assert found.p_value == 1.0


def test_mcnemar_is_exact():
    assert paired_share(10, 2, 100, 0.05).p_value == pytest.approx(
        reference.binomtest(10, 12, 0.5, alternative="greater").pvalue
    )
    assert paired_share(5, 0, 5, 0.05).upper == 1.0


@given(st.integers(0, 40), st.integers(0, 40), st.integers(80, 400))
def test_score_intervals_hold_the_estimate_and_mirror(losses, gains, n):
    found, mirrored = paired_share(losses, gains, n, 0.05), paired_share(gains, losses, n, 0.05)
    assert -1 <= found.lower <= found.effect <= found.upper <= 1
    assert found.upper == pytest.approx(-mirrored.lower, abs=1e-6)


def test_coverage_of_the_score_interval():
    rng = np.random.default_rng(2)
    outside = 0
    for _ in range(1500):
        differ = rng.multinomial(300, [0.06, 0.02, 0.92])
        found = paired_share(int(differ[0]), int(differ[1]), 300, 0.025)
        outside += not found.lower <= 0.04 <= found.upper
    assert 0.03 < outside / 1500 < 0.07


def test_impossible_counts_are_refused():
    for counts in ((-1, 0, 5), (3, 3, 5), (0, 0, 0)):
        with pytest.raises(ValueError, match="impossible"):
            paired_share(*counts, 0.05)


def test_failures_use_fisher():
    assert more_failures((0, 100), (0, 100)) == 1.0
    assert more_failures((10, 100), (0, 100)) < 0.001
    assert more_failures((0, 100), (10, 100)) == 1.0


def test_holm_steps_down_and_stays_monotone():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_benjamini_hochberg_agrees_with_scipy(p_values):
    assert benjamini_hochberg(p_values) == pytest.approx(
        reference.false_discovery_control(p_values).tolist()
    )
