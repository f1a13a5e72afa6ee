import numpy as np
import pytest

from gauntlet.analyzer.culprits.verify import Runs, WeighedRates, judge, lacks_proof, settled


def rates(flake=0.01, broken=0.999):
    return WeighedRates(flake=np.array([flake]), broken=np.array([broken]), weights=np.ones(1))


def runs(failed=0, passed=0, confirmed=1):
    return Runs(failed=failed, passed=passed, confirmed=confirmed)


def test_one_failure_and_one_pass_are_not_enough():
    assert judge(runs(failed=1), runs(passed=1), rates()) == "undecided"


def test_two_of_each_are_enough_for_a_steady_test():
    assert judge(runs(failed=2), runs(passed=2), rates()) == "verified"


def test_runs_of_the_search_alone_are_not_enough():
    old = runs(failed=9, confirmed=0)
    assert judge(old, runs(passed=9), rates()) == "undecided"
    assert lacks_proof(old, rates(), broken=True)


def test_a_flaky_test_needs_more_failures():
    assert judge(runs(failed=4), runs(passed=3), rates(flake=0.2)) == "undecided"
    assert judge(runs(failed=5), runs(passed=3), rates(flake=0.2)) == "verified"


def test_an_intermittent_failure_needs_more_passes_of_the_parent():
    some = rates(flake=0.05, broken=0.8)
    assert judge(runs(failed=4), runs(passed=4), some) == "undecided"
    assert judge(runs(failed=4), runs(passed=5), some) == "verified"


@pytest.mark.parametrize(
    ("suspect", "parent"),
    [
        pytest.param(runs(passed=3), runs(passed=3), id="suspect-passes"),
        pytest.param(runs(failed=3), runs(failed=3), id="parent-fails"),
    ],
)
def test_what_the_runs_contradict_is_refuted(suspect, parent):
    assert judge(suspect, parent, rates()) == "refuted"


def test_one_commit_is_settled_by_its_own_runs():
    assert settled(runs(failed=1), rates()) is None
    assert settled(runs(failed=2), rates()) == "broken"
    assert settled(runs(passed=2), rates()) == "fine"


@pytest.mark.parametrize(
    ("flake", "broken"), [(0.05, 0.999), (0.2, 0.999), (0.4, 0.999), (0.05, 0.8)]
)
def test_errors_stay_below_one_in_a_thousand(flake, broken):
    """A pair of which neither is broken, or both are, is hardly ever verified."""
    chance = np.random.default_rng(5)
    some, wrong, worlds = rates(flake, broken), 0, 3000
    for number in range(worlds):
        fails = flake if number % 2 else broken
        suspect, parent = [0, 0], [0, 0]
        proof = "undecided"
        while proof == "undecided" and sum(suspect) < 40:
            suspect[int(chance.random() >= fails)] += 1
            parent[int(chance.random() >= fails)] += 1
            proof = judge(runs(*suspect), runs(*parent), some)
        wrong += proof == "verified"
    assert wrong / worlds <= 2e-3
