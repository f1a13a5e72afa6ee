"""Given these runs, expect a history that broke, was repaired, and broke again; or not."""

import pytest

from gauntlet.analyzer.culprits.patterns import broken_twice
from gauntlet.analyzer.culprits.rates import Rates
from gauntlet.analyzer.culprits.search import Search

SURE = Rates.around(0.01, 0.99)


def searched(letters, *, rates=SURE, times=1):
    """A search with runs: a letter a commit, the good one first; F failed, P passed."""
    search = Search((1.0,) * (len(letters) - 1), rates)
    for place, letter in enumerate(letters):
        for _ in range(times if letter != "." else 0):
            search.record(place, "failed" if letter == "F" else "passed")
    return search


def test_a_break_a_repair_and_a_break_are_placed():
    found = broken_twice(searched("PPFFFPPPFF", times=2))
    assert (found.first, found.repair, found.second) == (2, 5, 8)
    assert found.probability > 0.99


@pytest.mark.parametrize(
    "letters",
    [
        pytest.param("PPPPFFFFFF", id="one-break"),
        pytest.param("PPPPPPPPPP", id="none"),
        pytest.param("FFFFFFFFFF", id="always"),
        pytest.param("P........F", id="nothing-between"),
    ],
)
def test_what_one_break_or_none_explains_is_not_two(letters):
    assert broken_twice(searched(letters)).probability < 0.2


def test_single_flakes_are_not_breaks():
    flaky = Rates.around(0.2, 0.99)
    assert broken_twice(searched("PPFPPPPFFFF", rates=flaky)).probability < 0.5
    assert broken_twice(searched("PPFFPPPPFFF", rates=flaky, times=4)).probability > 0.9


@pytest.mark.parametrize("letters", ["PF", "PFF"])
def test_two_commits_cannot_break_twice(letters):
    assert broken_twice(searched(letters)) is None


def test_more_runs_of_the_repaired_part_make_it_surer():
    once, more = (broken_twice(searched("PFPF", times=times)).probability for times in (1, 3))
    assert once < more
