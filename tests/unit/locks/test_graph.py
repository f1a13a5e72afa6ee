import pytest
from lock_worlds import lock_text

from gauntlet.core.errors import UsageError
from gauntlet.locks.graph import LockGraph
from gauntlet.locks.lock_file import parse_lock

PINS = [
    ("a", "1", ["-r all.in"]),
    ("b", "1", ["a", "-c bounds.txt"]),
    ("c", "1", ["b", "d"]),
    ("d", "1", ["project (pyproject.toml)", "c"]),
]


def graph(pins=PINS):
    return LockGraph(parse_lock(lock_text(pins), file="x.txt"))


def test_paths_are_the_shortest_first_and_have_no_loops():
    assert graph().paths("c") == [
        ("project (pyproject.toml)", "d", "c"),
        ("-r all.in", "a", "b", "c"),
    ]
    assert graph().paths("c", limit=1) == [("project (pyproject.toml)", "d", "c")]


def test_a_constraint_does_not_make_a_package_direct():
    assert not graph().is_direct("b")
    assert graph().is_direct("a")


def test_closure_is_what_is_installed():
    assert graph().closure(["a"]) == {"a", "b", "c", "d"}
    assert graph().closure(["d"]) == {"c", "d"}
    assert graph().closure(["nothing"]) == frozenset()


def test_through_names_the_direct_packages():
    assert graph().through("c") == ("a", "d")
    assert graph().through("a") == ("a",)


@pytest.mark.parametrize("via", [[], ["-c bounds.txt"]])
def test_a_lock_without_annotations_is_refused(via):
    with pytest.raises(UsageError, match=r"x.txt:1: nothing says through whom a came") as caught:
        graph([("a", "1", via)])
    assert "annotations" in caught.value.hint


def test_many_ways_stay_bounded():
    pins = [("l00a", "1", ["-r all.in"]), ("l00b", "1", ["-r all.in"])]
    for level in range(1, 30):
        above = [f"l{level - 1:02}a", f"l{level - 1:02}b"]
        pins += [(f"l{level:02}a", "1", above), (f"l{level:02}b", "1", above)]
    assert len(graph(pins).paths("l29a", limit=5)) == 5
