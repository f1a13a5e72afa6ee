"""Frontiers as geometry: what must hold whatever the points are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.analyzer.frontier.geometry import (
    Corner,
    at_equal_interactivity,
    common_range,
    dominated,
    equal_interactivities,
    hypervolume,
    hypervolume_ratio,
    pareto,
    throughput_at,
)

positive = st.floats(0.1, 1e4, allow_nan=False)
frontiers = st.lists(st.tuples(positive, positive), min_size=1, max_size=8).map(
    lambda points: tuple(np.array(column) for column in zip(*points, strict=True))
)
scales = st.floats(0.01, 100.0)


def arrays(*points):
    x, y = zip(*points, strict=True)
    return np.array(x, dtype=float), np.array(y, dtype=float)


def test_an_area_known_by_hand():
    assert hypervolume(*arrays((1, 3), (2, 2), (3, 1))) == 6.0
    assert hypervolume(*arrays((2, 5))) == 10.0
    assert hypervolume(*arrays((1, 3), (2, 2), (3, 1)), Corner(1, 1)) == 1.0


def test_a_point_that_is_not_there_has_no_area():
    x, y = arrays((1, 3), (2, 2))
    assert hypervolume(np.append(x, np.nan), np.append(y, np.nan)) == hypervolume(x, y)
    assert hypervolume(np.array([np.nan]), np.array([np.nan])) == 0.0


def test_of_equal_points_none_dominates_the_other():
    x, y = arrays((1, 1), (1, 1), (0.5, 1))
    assert pareto(x, y).tolist() == [True, True, False]


@given(frontiers)
def test_a_frontier_against_itself_has_ratio_one_exactly(frontier):
    assert hypervolume_ratio(frontier, frontier) == 1.0
    assert set(at_equal_interactivity(frontier, frontier).values()) <= {1.0}


@given(frontiers, frontiers)
def test_the_ratio_the_other_way_round_is_its_inverse(one, other):
    there, back = hypervolume_ratio(one, other), hypervolume_ratio(other, one)
    assert there * back == pytest.approx(1.0)


@given(frontiers, frontiers, scales, scales)
def test_units_do_not_matter(one, other, by_x, by_y):
    def scaled(frontier):
        return frontier[0] * by_x, frontier[1] * by_y

    before, after = hypervolume_ratio(one, other), hypervolume_ratio(scaled(one), scaled(other))
    assert after == pytest.approx(before)


@given(frontiers, frontiers, scales)
def test_scaling_both_throughputs_leaves_equal_interactivity_alone(one, other, by):
    before = at_equal_interactivity(one, other)
    after = at_equal_interactivity((one[0], one[1] * by), (other[0], other[1] * by))
    assert after == pytest.approx(before)


@given(frontiers, frontiers, st.randoms())
def test_the_order_of_points_does_not_matter(one, other, random):
    order = list(range(len(one[0])))
    random.shuffle(order)
    shuffled = one[0][order], one[1][order]
    assert hypervolume(*shuffled) == pytest.approx(hypervolume(*one))
    assert at_equal_interactivity(shuffled, other) == at_equal_interactivity(one, other)


@given(frontiers, frontiers, st.floats(0.01, 1.0), st.floats(0.01, 1.0), st.integers(0, 7))
def test_a_dominated_point_changes_nothing(one, other, less_x, less_y, index):
    index %= len(one[0])
    more = (
        np.append(one[0], one[0][index] * less_x),
        np.append(one[1], one[1][index] * less_y * 0.99),
    )
    assert hypervolume(*more) == pytest.approx(hypervolume(*one))
    assert common_range(more, other) == common_range(one, other)
    assert at_equal_interactivity(more, other) == pytest.approx(at_equal_interactivity(one, other))


@given(frontiers, frontiers)
def test_nothing_is_read_beyond_what_both_reach(one, other):
    found = equal_interactivities(one, other)
    common = common_range(one, other)
    assert (not found) == (common is None)
    for at in found:
        assert common[0] < at < common[1]
        for x, y in (one, other):
            front = pareto(x, y)
            assert y[front].min() <= throughput_at(x, y, at) * (1 + 1e-9)
            assert throughput_at(x, y, at) <= y[front].max() * (1 + 1e-9)


def test_between_two_points_the_curve_falls_on_a_log_scale():
    x, y = arrays((10, 400), (40, 100))
    assert throughput_at(x, y, 20.0) == pytest.approx(200.0)
    assert np.isnan(throughput_at(x, y, 41.0))
    assert np.isnan(throughput_at(x, y, 9.9))


def test_frontiers_that_do_not_meet_are_not_compared_at_one_interactivity():
    slow, fast = arrays((1, 9), (2, 8)), arrays((3, 9), (4, 8))
    assert common_range(slow, fast) is None
    assert at_equal_interactivity(slow, fast) == {}
    assert at_equal_interactivity(arrays((2, 2)), arrays((2, 3))) == {}


def test_many_frontiers_are_measured_at_once():
    rng = np.random.default_rng(1)
    x, y = rng.uniform(1, 9, (2, 50, 6))
    assert hypervolume(x, y).tolist() == [
        float(hypervolume(*row)) for row in zip(x, y, strict=True)
    ]
    each = [float(throughput_at(*row, 4.0)) for row in zip(x, y, strict=True)]
    np.testing.assert_array_equal(throughput_at(x, y, 4.0), each)


def test_who_is_dominated_by_the_other_side():
    x, y = arrays((1, 1), (3, 3))
    assert dominated(x, y, by_x=np.array([2.0]), by_y=np.array([2.0])).tolist() == [True, False]
