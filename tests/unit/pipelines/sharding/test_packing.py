from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gauntlet.pipelines.sharding.estimate import Place
from gauntlet.pipelines.sharding.packing import lower_bound, misfit, pack


def file_of(key):
    return key[0], Place.of(key[1]).file


def as_ms(sizes):
    """Sizes by id, all of the first pytest call."""
    return {(0, node_id): size for node_id, size in sizes.items()}


def load(tests, bins, ms, split):
    homes = Counter(file for other in bins for file in set(map(file_of, other)))
    files = set(map(file_of, tests))
    return sum(ms[key] for key in tests) + split * sum(homes[file] > 1 for file in files)


def fewest(ms, room, split):
    """The fewest bins by trying every partition; None where there is none."""
    keys, bins, best = sorted(ms), [], [None]

    def place(number):
        if best[0] is not None and len(bins) >= best[0]:
            return
        if number == len(keys):
            if all(load(tests, bins, ms, split) <= room for tests in bins):
                best[0] = len(bins)
            return
        for tests in bins:
            if sum(ms[key] for key in tests) + ms[keys[number]] <= room:
                tests.append(keys[number])
                place(number + 1)
                tests.pop()
        bins.append([keys[number]])
        place(number + 1)
        bins.pop()

    place(0)
    return best[0]


IDS = st.builds(
    "f{}.py::{}t{}[{}]".format,
    st.integers(0, 2),
    st.sampled_from(["", "A::", "B::"]),
    st.integers(0, 1),
    st.integers(0, 9),
)
SMALL = st.dictionaries(IDS, st.integers(0, 100), min_size=1, max_size=7).map(as_ms)
LARGE = st.dictionaries(IDS, st.integers(0, 100), min_size=1, max_size=60).map(as_ms)
ROOM = st.integers(60, 160)
SPLIT = st.sampled_from([0, 0, 5, 20])


@settings(max_examples=150, deadline=None)
@given(ms=SMALL, room=ROOM, split=SPLIT)
def test_few_tests_get_the_fewest_bins_there_can_be(ms, room, split):
    found, best = pack(ms, room=room, split=split), fewest(ms, room, split)
    assert (found and len(found.bins)) == best
    assert (misfit(ms, room=room, split=split) is None) == (best is not None)
    if found is not None:
        assert found.fewest != "not proved"


@settings(max_examples=150, deadline=None)
@given(ms=LARGE, room=ROOM, split=SPLIT)
def test_bins_hold_every_test_once_and_no_more_than_they_can(ms, room, split):
    found = pack(ms, room=room, split=split)
    if found is None:
        assert misfit(ms, room=room, split=split) is not None
        return
    assert Counter(key for tests in found.bins for key in tests) == Counter(list(ms))
    assert list(found.loads) == [load(tests, found.bins, ms, split) for tests in found.bins]
    assert max(found.loads) <= room
    assert len(found.bins) >= found.bound == lower_bound(ms.values(), room)


@settings(max_examples=60, deadline=None)
@given(ms=LARGE, room=ROOM, shuffle=st.randoms(use_true_random=False))
def test_the_order_of_tests_changes_nothing(ms, room, shuffle):
    keys = list(ms)
    shuffle.shuffle(keys)
    assert pack({key: ms[key] for key in keys}, room=room, split=5) == pack(ms, room=room, split=5)


@pytest.mark.parametrize(
    ("sizes", "bound"),
    [
        pytest.param([], 1, id="nothing"),
        pytest.param([10, 10], 2, id="full bins"),
        pytest.param([6, 6, 6], 3, id="two of more than half never share"),
        pytest.param([7, 7, 4, 4], 3, id="gaps too small for the rest"),
        pytest.param([4] * 5, 2, id="sum only"),
    ],
)
def test_the_lower_bound(sizes, bound):
    assert lower_bound(sizes, 10) == bound


def files(bins):
    return [sorted({file_of(key)[1] for key in tests}) for tests in bins]


def test_files_stay_whole_where_that_costs_no_bin():
    ms = as_ms({f"f{n}.py::t[{m}]": 3 for n in range(4) for m in range(2)})
    found = pack(ms, room=12)
    assert sorted(name for names in files(found.bins) for name in names) == [
        "f0.py",
        "f1.py",
        "f2.py",
        "f3.py",
    ]
    assert found.loads == (12, 12)


def test_a_file_is_split_where_that_saves_a_bin():
    ms = as_ms({f"f{n}.py::t{m}": 3 for n in range(3) for m in range(2)})
    assert len(pack(ms, room=9).bins) == 2
    # Three halves do not fit into two bins once each part costs something.
    assert len(pack(ms, room=9, split=1).bins) == 3


def test_a_file_that_is_too_long_is_split_between_classes_first():
    names = ["A::t[1]", "A::t[2]", "A::u", "B::t", "B::u[1]", "B::u[2]"]
    found = pack(as_ms({f"f.py::{name}": 3 for name in names}), room=10)
    holders = [{Place.of(key[1]).holder for key in tests} for tests in found.bins]
    assert sorted(map(sorted, holders)) == [["A"], ["B"]]


def test_ids_of_one_function_stay_together_where_they_fit():
    sizes = {f"f.py::t{n}[{m}]": 2 for n in range(4) for m in range(3)}
    found = pack(as_ms(sizes), room=13)
    functions = [
        Place.of(key[1]).function
        for tests in found.bins
        for key in {Place.of(k[1]).function: k for k in tests}.values()
    ]
    assert sorted(functions) == ["t0", "t1", "t2", "t3"]


def test_a_function_that_is_too_long_is_split():
    found = pack(as_ms({f"f.py::t[{m}]": 3 for m in range(6)}), room=10)
    assert found.loads == (9, 9)


def test_bins_are_levelled():
    found = pack(as_ms({f"f{n}.py::t": 1 for n in range(12)}), room=10)
    assert found.loads == (6, 6)


def test_the_same_id_in_two_calls_is_two_tests():
    found = pack({(0, "f.py::t"): 6, (1, "f.py::t"): 6}, room=10)
    assert found.bins == (((0, "f.py::t"),), ((1, "f.py::t"),))


@pytest.mark.parametrize(
    ("sizes", "room", "split"),
    [
        pytest.param({"f.py::t": 11}, 10, 0, id="too long by itself"),
        pytest.param({"f.py::t": 9, "f.py::u": 9}, 10, 2, id="too long as a part"),
    ],
)
def test_a_test_that_fits_nowhere_is_named(sizes, room, split):
    assert misfit(as_ms(sizes), room=room, split=split) is not None
    assert pack(as_ms(sizes), room=room, split=split) is None


def test_no_more_bins_than_allowed():
    ms = as_ms({f"f{n}.py::t": 9 for n in range(5)})
    assert pack(ms, room=10, most=4) is None
    assert len(pack(ms, room=10, most=5).bins) == 5
