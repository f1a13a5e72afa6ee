import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gauntlet.analyzer.culprits.posterior import smallest_set
from gauntlet.analyzer.culprits.rates import Rates
from gauntlet.analyzer.culprits.search import MOST_AT_ONCE, Search

SURE = Rates.around(0.0, 1.0)


def found(n, culprit, *, seed, flake, fails, rates, at_once=1, nobody=0.2):
    """What a search names in a made world, and in how many runs."""
    chance = random.Random(f"{n} {culprit} {seed}")
    search = Search((1.0,) * n, rates, nobody=nobody, before=0.0)
    runs = 0
    while search.standing().probability < 0.99 and runs < 200:
        for place in search.next_probes(at_once):
            rate = fails if place >= culprit else flake
            search.record(place, "failed" if chance.random() < rate else "passed")
            runs += 1
    return search.standing(), runs


@pytest.mark.parametrize("culprit", range(1, 18))
def test_a_steady_failure_is_found_in_about_as_many_runs_as_bisect_takes(culprit):
    standing, runs = found(16, culprit, seed=1, flake=0.0, fails=1.0, rates=SURE)
    assert (standing.first, standing.last) == (culprit, culprit)
    assert standing.ending == ("culprit" if culprit <= 16 else "nobody")
    assert runs <= 6


@pytest.mark.parametrize(
    ("flake", "fails", "most_wrong", "most_runs"),
    [
        pytest.param(0.2, 1.0, 1, 14.0, id="flakes"),
        pytest.param(0.05, 0.8, 2, 17.0, id="intermittent"),
    ],
)
def test_flaky_worlds_of_64_commits(flake, fails, most_wrong, most_runs):
    """The figures themselves are those of benchmarks/culprits.py, with more worlds."""
    chance = random.Random(3)
    wrong = total = 0
    for seed in range(80):
        culprit = 65 if chance.random() < 0.2 else chance.randint(1, 64)
        rates = Rates.around(flake, fails)
        standing, runs = found(64, culprit, seed=seed, flake=flake, fails=fails, rates=rates)
        wrong += standing.first != culprit
        total += runs
    assert wrong <= most_wrong
    assert total / 80 <= most_runs


def test_runs_side_by_side_take_fewer_rounds():
    _, runs = found(64, 23, seed=1, flake=0.0, fails=1.0, rates=SURE, at_once=4)
    assert runs / 4 <= 4
    first = Search((1.0,) * 64, SURE).next_probes(3)
    assert len(set(first)) == 3


def test_infra_says_nothing():
    search = Search((1.0,) * 4, SURE)
    before = search.posterior()
    search.record(2, "infra")
    assert (search.posterior() == before).all()


def test_commits_that_cannot_be_built_are_never_run_and_make_a_range():
    search = Search((1.0,) * 8, SURE)
    for place in (4, 5):
        search.record(place, "unbuildable")
    while search.standing().probability < 0.99:
        (place,) = search.next_probes()
        assert place not in {4, 5}
        search.record(place, "failed" if place >= 5 else "passed")
    standing = search.standing()
    assert (standing.ending, standing.first, standing.last) == ("range", 4, 6)


def test_a_good_commit_that_fails_is_before_the_range():
    search = Search((1.0,) * 8, SURE)
    while search.standing().probability < 0.99:
        search.record(search.next_probes()[0], "failed")
    assert search.standing().ending == "before"


def test_nothing_can_be_run():
    search = Search((1.0,) * 3, SURE)
    for place in range(4):
        search.record(place, "unbuildable")
    assert search.next_probes() == []


def test_a_range_without_commits_is_refused():
    with pytest.raises(ValueError, match="at least one commit"):
        Search((), SURE)


def test_the_rates_are_learnt_from_the_runs():
    search = Search((1.0,) * 8, Rates.around())
    for _ in range(20):
        search.record(0, "passed")
        search.record(0, "passed")
        search.record(0, "failed")
    assert search.believed_rates()[0] == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize(
    ("flake", "broken"),
    [pytest.param(0.5, 0.4, id="less"), pytest.param(0.7, 0.7, id="equal")],
)
def test_rates_that_nothing_could_tell_apart_are_refused(flake, broken):
    with pytest.raises(ValueError, match="fails more often"):
        Rates.around(flake, broken)


@pytest.mark.parametrize("flake", [0.0, 0.2, 0.4, 0.7])
def test_a_guessed_flake_rate_is_only_ever_raised(flake):
    rates = [rate for rate, _ in Rates.around(flake).flake]
    assert min(rates) >= flake
    assert max(rates) <= 2 * flake + 0.01
    assert sum(share for _, share in Rates.around(flake).flake) == pytest.approx(1)


_RUNS = st.lists(
    st.tuples(st.integers(0, 9), st.sampled_from(["passed", "failed", "infra", "unbuildable"])),
    max_size=30,
)


@settings(max_examples=60, deadline=None)
@given(runs=_RUNS, count=st.integers(1, MOST_AT_ONCE + 1))
def test_whatever_is_recorded_the_belief_is_one_and_probes_can_be_run(runs, count):
    search = Search((1.0,) * 9, Rates.around(0.1))
    for place, outcome in runs:
        search.record(place, outcome)
    posterior = search.posterior()
    assert posterior.sum() == pytest.approx(1)
    assert np.isfinite(posterior).all()
    assert set(search.next_probes(count)) <= set(search.testable)
    standing = search.standing()
    assert standing.first <= standing.last <= 10
    assert 1 <= len(search.credible(0.99)) <= 9


@settings(max_examples=30, deadline=None)
@given(runs=_RUNS, seed=st.integers(0, 99))
def test_the_order_of_runs_does_not_matter(runs, seed):
    shuffled = list(runs)
    random.Random(seed).shuffle(shuffled)
    searches = [Search((1.0,) * 9, Rates.around(0.1)) for _ in range(2)]
    for search, order in zip(searches, (runs, shuffled), strict=True):
        for place, outcome in order:
            search.record(place, outcome)
    assert searches[0].posterior() == pytest.approx(searches[1].posterior())


def test_the_smallest_set():
    assert smallest_set(np.array([0.1, 0.6, 0.3]), 0.85) == [2, 3]
