import pytest
from unit.pipelines.sharding.factories import timings

from gauntlet.pipelines.sharding.estimate import DEFAULT_TEST_S, Place, estimate


@pytest.mark.parametrize(
    ("node_id", "place"),
    [
        pytest.param("a/b.py::t", ("a/b.py", "t", "t"), id="function"),
        pytest.param("a.py::t[1-x]", ("a.py", "t", "t"), id="parameters"),
        pytest.param("a.py::t[b::c]", ("a.py", "t", "t"), id="colons in parameters"),
        pytest.param("a.py::t[[x] y]", ("a.py", "t", "t"), id="brackets in parameters"),
        pytest.param("a.py::A::t[1]", ("a.py", "A", "A::t"), id="class"),
        pytest.param("a.py::A::B::t", ("a.py", "A::B", "A::B::t"), id="nested class"),
        pytest.param("a[1].py::t", ("a[1].py", "t", "t"), id="bracket in the file's name"),
        pytest.param("a.md", ("a.md", "", ""), id="no part"),
    ],
)
def test_an_id_is_taken_apart(node_id, place):
    assert Place.of(node_id) == Place(file=place[0], holder=place[1], function=place[2])


@pytest.mark.parametrize(
    ("past", "seconds"),
    [
        pytest.param([3], 3, id="one run"),
        pytest.param([1, 2, 3, 4], 3, id="third quartile"),
        pytest.param([1, 1, 1, 1, 900], 1, id="one stuck machine does not count"),
        pytest.param([0.0001], 0.001, id="rounded up to milliseconds"),
        pytest.param([1e300], 1e7, id="bounded"),
    ],
)
def test_a_measured_test(past, seconds):
    found = estimate([(0, "a.py::t")], timings({"a.py::t": past}))
    assert found.ms[0, "a.py::t"] == seconds * 1000
    assert found.measured_share == 1


@pytest.mark.parametrize(
    ("past", "seconds"),
    [
        pytest.param({"a.py::t[2]": 2, "a.py::t[3]": 4, "a.py::u": 50}, 3, id="its function"),
        pytest.param({"a.py::u": 2, "a.py::v": 8, "b.py::t[1]": 50}, 5, id="its file"),
        pytest.param({"b.py::t": 7}, 7, id="the job"),
        pytest.param({"elsewhere.py::t": 7}, DEFAULT_TEST_S, id="another job tells nothing"),
        pytest.param({}, DEFAULT_TEST_S, id="nothing known"),
        pytest.param({"a.py::t[1]": []}, DEFAULT_TEST_S, id="an empty history is none"),
    ],
)
def test_a_test_never_measured_is_guessed_from_the_nearest(past, seconds):
    keys = [(0, "a.py::t[1]"), (0, "b.py::t")]
    found = estimate(keys, timings(past))
    assert found.ms[keys[0]] == seconds * 1000
    assert keys[0] not in found.measured


def test_the_measured_share_counts_time_not_tests():
    found = estimate([(0, "a.py::t"), (0, "b.py::t")], timings({"a.py::t": 30}))
    assert found.measured == {(0, "a.py::t")}
    assert found.measured_share == 0.5
