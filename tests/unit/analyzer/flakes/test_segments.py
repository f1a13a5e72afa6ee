"""Change points of pass and fail histories."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betaln

from gauntlet.analyzer.flakes.segments import (
    SPLIT_PRIOR,
    A,
    B,
    best_splits,
    place_of_change,
    rate_of,
    segments_of,
)

HISTORIES = st.lists(st.booleans(), min_size=2, max_size=60).map(lambda x: np.array(x, dtype=bool))


def evidence(part):
    x, n = int(part.sum()), len(part)
    return betaln(A + x, B + n - x) - betaln(A, B)


@given(HISTORIES)
def test_the_best_split_is_that_of_the_formula(failed):
    by_hand = [
        evidence(failed[:k]) + evidence(failed[k:]) - evidence(failed)
        for k in range(1, len(failed))
    ]
    index, odds = best_splits(failed[None, :])
    assert odds[0] == pytest.approx(max(by_hand) + np.log(SPLIT_PRIOR), abs=1e-8)
    assert by_hand[index[0] - 1] == pytest.approx(max(by_hand), abs=1e-8)


@given(HISTORIES)
def test_segments_cover_every_run_once_and_count_its_failures(failed):
    found = segments_of(failed)
    assert [s.start for s in found.segments[1:]] == [c.index for c in found.changes]
    assert sum(segment.runs for segment in found.segments) == len(failed)
    assert sum(segment.failures for segment in found.segments) == failed.sum()
    for change in found.changes:
        assert change.low <= change.index <= change.high


@given(HISTORIES)
def test_the_place_of_a_change_lies_between_runs(failed):
    low, high = place_of_change(failed)
    assert 1 <= low <= high <= len(failed) - 1


@given(st.integers(0, 50), st.integers(0, 50))
def test_a_rate_lies_in_its_interval_and_a_wider_one_holds_a_narrower(failures, passes):
    narrow = rate_of(failures, failures + passes, level=0.5)
    wide = rate_of(failures, failures + passes, level=0.99)
    assert 0 <= wide.low <= narrow.low <= narrow.high <= wide.high <= 1
    assert wide.low <= wide.mean <= wide.high


def test_many_histories_are_split_as_one_alone():
    drawn = np.random.default_rng(1).random((50, 40)) < 0.3
    together = best_splits(drawn)[1]
    alone = [best_splits(row[None, :])[1][0] for row in drawn]
    assert together == pytest.approx(alone)


def test_a_clear_step_is_found_where_it_is():
    found = segments_of(np.r_[np.zeros(60, bool), np.ones(20, bool), np.zeros(20, bool)])
    assert [change.index for change in found.changes] == [60, 80]
    assert all(change.low <= change.index <= change.high for change in found.changes)


@pytest.mark.parametrize("runs", [0, 1])
def test_too_few_runs_have_no_change(runs):
    assert segments_of(np.ones(runs, bool)).changes == ()
    with pytest.raises(ValueError, match="two runs"):
        place_of_change(np.ones(runs, bool))
