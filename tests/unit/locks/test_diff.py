from datetime import UTC, datetime

import pytest
from lock_worlds import lock_text

from gauntlet.locks.diff import by_release, diff_locks, step_between
from gauntlet.locks.diff_text import markdown_lines, text_lines
from gauntlet.locks.lock_file import parse_lock
from gauntlet.locks.reading import LockSide
from gauntlet.locks.record import IndexRecord, Recorded

IN = ["-r all.in"]


def side(pins, *, hashes=None, released=None, file="x.txt"):
    packages = {
        key: Recorded(files={}, released=datetime(2026, 1, day, tzinfo=UTC))
        for key, day in (released or {}).items()
    }
    lock = parse_lock(lock_text(pins, hashes=hashes), file=file)
    return LockSide(lock=lock, record=IndexRecord(packages=packages))


@pytest.mark.parametrize(
    ("old", "new", "step"),
    [
        ("1.2.3", "2.0", "major"),
        ("1.2.3", "1.3", "minor"),
        ("1.2.3", "1.2.4", "patch"),
        ("1.2.3", "1.2.3.post1", "patch"),
        ("2.0rc1", "2.0", "patch"),
        ("1.2.3", "1.2.2", "downgrade"),
        ("1.0", "1!1.0", "major"),
        ("1.0 | 2.0", "2.0", "several"),
        ("1.0", "latest", "unknown"),
    ],
)
def test_how_far_a_version_moved(old, new, step):
    assert step_between(old, new) == step


def test_every_kind_of_change():
    zeros = {("same", "1"): ["sha256:" + "0" * 64]}
    old = side([("gone", "1", ["b"]), ("b", "1", IN), ("same", "1", IN), ("x[e]", "1", IN)])
    new = side(
        [("b", "2", IN), ("fresh", "1", ["b"]), ("same", "1", IN), ("x", "1", IN)],
        hashes=zeros,
        released={"b==2": 5},
    )
    found = diff_locks(old, new)
    assert [(c.name, c.kind, c.direct, c.through) for c in found.changes] == [
        ("b", "changed", True, ("b",)),
        ("fresh", "added", False, ("b",)),
        ("gone", "removed", False, ("b",)),
        ("same", "hashes-only", True, ("same",)),
        ("x", "markers", True, ("x",)),
    ]
    text = "\n".join(text_lines(found, found.changes))
    assert "WARNING: same has the same version and other hashes" in text
    assert "2026-01-05" in text
    table = "\n".join(markdown_lines(found, found.changes))
    assert "| b | 1 | 2 | major | ? | 2026-01-05 00:00 | direct |" in table


def test_case_c49_packages_released_between_in_the_order_of_release():
    """Case C49: the same commit good and bad; what came out between is the suspect."""
    names = ("alpha", "beta", "gamma")
    old = side([(name, "1", IN) for name in names])
    days = {"alpha==2": 9, "beta==2": 3, "gamma==2": 6}
    new = side([(name, "2", IN) for name in names], released=days)
    found = diff_locks(old, new)
    assert [change.name for change in by_release(found.changes)] == ["beta", "gamma", "alpha"]


def test_what_nobody_dates_comes_last():
    old = side([("a", "1", IN), ("b", "1", IN)])
    new = side([("a", "2", IN), ("b", "2", IN)], released={"b==2": 4})
    assert [c.name for c in by_release(diff_locks(old, new).changes)] == ["b", "a"]


def test_a_lock_without_annotations_is_compared_and_says_so():
    found = diff_locks(side([("a", "1", [])]), side([("a", "2", [])]))
    assert found.changes[0].direct is None
    assert "no annotations" in "\n".join(text_lines(found, found.changes))


def test_no_difference_is_said():
    same = side([("a", "1", IN)])
    found = diff_locks(same, same)
    assert list(text_lines(found, found.changes)) == ["no difference between x.txt and x.txt"]
