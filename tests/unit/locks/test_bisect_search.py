"""The pure search over packages: who is found, at what cost, and what is claimed."""

from math import ceil, log2

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gauntlet.locks.bisect.search import Search


class World:
    """Packages of which some mixes fail; ``together`` are groups that only move as one."""

    def __init__(self, bad, *, together=(), skips=lambda _mix: False):
        self.bad = bad
        self.together = [frozenset(group) for group in together]
        self.skips = skips
        self.tested = []

    def settle(self, new, old, *, prefer_new):
        mix = frozenset(self.names) - old if prefer_new else new
        for group in self.together:
            if group & mix and not group <= mix:
                mix = mix - group if prefer_new else mix | group
        return None if mix & old or new - mix else mix

    def test(self, mix):
        assert mix not in self.tested, "a probe was paid for twice"
        assert all(group <= mix or not group & mix for group in self.together)
        self.tested.append(mix)
        if self.skips(mix):
            return "skip"
        return "bad" if self.bad(mix) else "good"

    def search(self, weights, **options):
        self.names = list(weights)
        return Search(weights=weights, prober=self, **options).run()


def even(count):
    return {f"p{number:02}": 1.0 for number in range(count)}


def culprits(found):
    return {name for culprit in found.culprits for name in culprit.upgrades}


@pytest.mark.parametrize("count", range(1, 41))
def test_one_culprit_is_found_at_every_position(count):
    for name in even(count):
        world = World(lambda mix, name=name: name in mix)
        found = world.search(even(count))
        assert (found.state, culprits(found)) == ("proved", {name})
        assert found.kept == frozenset(even(count)) - {name}
        assert len(world.tested) <= max(ceil(log2(count)) + 1, 2)


def test_twelve_upgrades_cost_five_installations_at_most():
    costs = []
    for name in even(12):
        world = World(lambda mix, name=name: name in mix)
        world.search(even(12))
        costs.append(len(world.tested))
    assert max(costs) <= 5


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_weights_never_make_it_deeper(data):
    count = data.draw(st.integers(1, 40))
    weights = {name: data.draw(st.floats(0.1, 1000)) for name in even(count)}
    ordered = dict(sorted(weights.items(), key=lambda item: -item[1]))
    name = data.draw(st.sampled_from(sorted(ordered)))
    world = World(lambda mix: name in mix)
    found = world.search(ordered)
    assert (found.state, culprits(found)) == ("proved", {name})
    assert len(world.tested) <= max(ceil(log2(count)) + 1, 2)


def test_a_likely_culprit_is_found_sooner():
    weights = {"likely": 64.0, **even(11)}
    world = World(lambda mix: "likely" in mix)
    assert culprits(world.search(weights)) == {"likely"}
    assert len(world.tested) == 3


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_two_culprits_are_both_found(data):
    count = data.draw(st.integers(2, 40))
    one, two = data.draw(st.lists(st.sampled_from(sorted(even(count))), min_size=2, max_size=2))
    world = World(lambda mix: one in mix or two in mix)
    found = world.search(even(count), max_installs=40)
    assert (found.state, culprits(found)) == ("proved", {one, two})
    assert found.kept == frozenset(even(count)) - {one, two}


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_of_two_that_break_together_one_is_held(data):
    count = data.draw(st.integers(2, 40))
    pair = data.draw(
        st.lists(st.sampled_from(sorted(even(count))), min_size=2, max_size=2, unique=True)
    )
    world = World(lambda mix: set(pair) <= mix)
    found = world.search(even(count), max_installs=40)
    assert found.state == "proved"
    assert len(culprits(found)) == 1
    assert culprits(found) < set(pair)
    assert len(found.kept) == count - 1


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_packages_that_cannot_move_apart_are_one(data):
    count = data.draw(st.integers(2, 40))
    labels = [data.draw(st.integers(0, count)) for _ in range(count)]
    groups = [
        {n for n, label in zip(even(count), labels, strict=True) if label == k} for k in labels
    ]
    name = data.draw(st.sampled_from(sorted(even(count))))
    world = World(lambda mix: name in mix, together=groups)
    found = world.search(even(count), max_installs=40)
    own = next(group for group in groups if name in group)
    assert (found.state, culprits(found)) == ("proved", own)
    assert found.kept == frozenset(even(count)) - own


def test_all_of_them_may_be_one_unit():
    world = World(lambda mix: "p03" in mix, together=[set(even(5))])
    found = world.search(even(5))
    assert culprits(found) == set(even(5))
    assert found.state == "proved"


def test_a_test_that_passes_with_everything_new_is_not_reproduced():
    world = World(lambda _mix: False)
    assert world.search(even(12)).state == "not-reproduced"


def test_a_test_that_fails_with_everything_old_blames_nobody():
    world = World(lambda _mix: True)
    found = world.search(even(12))
    assert found.state == "old-is-bad"
    assert found.culprits == ()


@pytest.mark.parametrize(
    ("bad", "state"), [(lambda _: True, "old-is-bad"), (lambda _: False, "not-reproduced")]
)
def test_the_ends_can_be_proved_first(bad, state):
    world = World(bad)
    assert world.search(even(12), prove_ends=True).state == state
    assert len(world.tested) == (1 if state == "old-is-bad" else 2)


def test_a_mix_that_cannot_be_judged_is_passed_by():
    world = World(lambda mix: "p07" in mix, skips=lambda mix: len(mix) in (6, 9))
    found = world.search(even(12), max_installs=40)
    assert (found.state, culprits(found)) == ("proved", {"p07"})


def test_what_cannot_be_judged_apart_stays_a_group():
    world = World(lambda mix: "p01" in mix, skips=lambda mix: len(mix) == 1)
    found = world.search(even(3), max_installs=40)
    assert "p01" in culprits(found)


def test_nothing_is_claimed_past_the_bound():
    world = World(lambda mix: "p07" in mix)
    found = world.search(even(12), max_installs=3)
    assert found.state == "cannot-tell"
    assert "3 installations" in found.reason
    assert len(world.tested) == 3


def test_a_second_culprit_past_the_bound_is_red_that_remains():
    world = World(lambda mix: "p02" in mix or "p09" in mix)
    found = world.search(even(12), max_installs=5)
    assert (found.state, culprits(found)) == ("red-remains", {"p02"})


def test_a_test_that_can_never_be_judged_blames_nobody():
    world = World(lambda _mix: True, skips=lambda _mix: True)
    found = world.search(even(3), max_installs=40)
    assert (found.state, found.culprits) == ("cannot-tell", ())
