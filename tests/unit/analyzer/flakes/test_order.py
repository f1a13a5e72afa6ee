"""Order dependence, with suites that are rules instead of processes."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.analyzer.flakes.order import probe_order
from gauntlet.core.errors import UsageError

SUITE = [f"t{number}" for number in range(64)]


class Suite:
    """Ends as a rule over the set of tests before the last says."""

    def __init__(self, fails):
        self.fails = fails
        self.runs = 0

    def last_fails(self, nodeids):
        self.runs += 1
        return self.fails(set(nodeids[:-1]))


def probe(fails, nodeid="t50", **options):
    return probe_order(nodeid, SUITE, Suite(fails), **options)


def test_a_victim_has_its_polluter_found_in_few_runs():
    found = probe(lambda before: "t13" in before)
    assert (found.kind, found.cause, found.complete) == ("victim", ("t13",), True)
    assert found.runs <= 40


def test_a_brittle_test_has_its_setter_found():
    found = probe(lambda before: "t20" not in before)
    assert (found.kind, found.cause) == ("brittle", ("t20",))


@given(st.sets(st.integers(0, 49), min_size=1, max_size=3))
def test_polluters_that_only_pollute_together_are_all_found(numbers):
    wanted = {f"t{number}" for number in numbers}
    found = probe(lambda before: wanted <= before, budget=5000, repeats=1)
    assert set(found.cause) == wanted


def test_either_of_two_polluters_is_enough():
    found = probe(lambda before: bool({"t3", "t44"} & before))
    assert found.cause in {("t3",), ("t44",)}


@pytest.mark.parametrize(
    ("fails", "kind"), [(lambda before: True, "broken"), (lambda before: False, "independent")]
)
def test_what_ends_alike_both_ways_has_no_polluter(fails, kind):
    assert probe(fails).kind == kind
    assert probe(fails, nodeid="t0").kind == kind


def test_a_flake_is_not_taken_for_a_victim():
    outcomes = iter([False, True] * 50)
    assert probe(lambda before: next(outcomes)).kind == "flaky"


def test_a_polluter_is_found_although_the_test_is_flaky_too():
    draw = random.Random(4)
    right = sum(
        probe(lambda before: "t13" in before or draw.random() < 0.05, repeats=3).cause == ("t13",)
        for _ in range(40)
    )
    assert right >= 30


def test_a_budget_ends_the_search_with_what_is_known():
    suite = Suite(lambda before: "t13" in before)
    found = probe_order("t50", SUITE, suite, budget=12)
    assert (found.complete, suite.runs) == (False, 12)
    assert "t13" in found.cause


def test_what_cannot_be_asked_is_refused():
    with pytest.raises(UsageError, match="not in the suite"):
        probe(lambda before: False, nodeid="x")
    with pytest.raises(UsageError, match="budget"):
        probe(lambda before: False, budget=3)
