"""Given this history, expect this state."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.analyzer.flakes.judge import History, judge
from gauntlet.analyzer.flakes.release_rule import (
    clean_runs,
    clean_runs_asked,
    clean_runs_needed,
)
from gauntlet.analyzer.flakes.streaks import broken_stretches, more_failures, opened


def history(text, commits=None):
    """``.`` passed, ``F`` failed; each run on a commit of its own unless said otherwise."""
    names = commits or [f"c{number}" for number in range(len(text))]
    return History(failed=tuple(mark == "F" for mark in text), commits=tuple(names))


def on(text):
    """Runs and commits: attempts on one commit stand together, commits apart."""
    groups = text.split()
    commits = [f"c{number}" for number, group in enumerate(groups) for _ in group]
    return history("".join(groups), commits)


GREEN = "." * 60


@pytest.mark.parametrize(
    ("text", "state", "since"),
    [
        pytest.param("", "unknown", None, id="never-ran"),
        pytest.param("...", "unknown", None, id="new-and-green"),
        pytest.param(GREEN, "healthy", None, id="green"),
        pytest.param(GREEN + "F", "unknown", None, id="one-failure"),
        pytest.param(GREEN + "FF", "unknown", None, id="two-failures"),
        pytest.param(GREEN + "FFF", "broken", 60, id="full-break-after-three"),
        pytest.param("." * 30 + "F" + "." * 29 + "FFF", "broken", 60, id="rare-flake-broke"),
        pytest.param("....F" * 12 + "FFF", "flaky", None, id="bad-luck-of-a-20-percent-flake"),
        pytest.param("....F" * 12 + "." + "F" * 8, "broken", 61, id="20-percent-flake-broke"),
        pytest.param("F" * 6, "broken", None, id="born-broken"),
        pytest.param("F" * 4, "unknown", None, id="born-red-lately"),
        pytest.param(GREEN + "F" * 8 + "." * 40, "healthy", None, id="broke-and-was-repaired"),
        pytest.param(GREEN + "F" * 8 + GREEN + "FFF", "broken", 128, id="broke-again"),
        pytest.param(GREEN + "F." * 20, "flaky", 60, id="has-become-flaky"),
        pytest.param(GREEN + "F.FF.F.FFF.F", "flaky", 60, id="newly-flaky-is-no-break"),
        pytest.param("F..F." * 8 + "." * 80, "healthy", 39, id="flake-that-was-repaired"),
        pytest.param(GREEN + "FFFFF.FFFFFFF.FFFFFFFF", "broken", 60, id="intermittent-break"),
        pytest.param("." * 40 + "F" + "." * 100, "healthy", None, id="once-in-long"),
        pytest.param("." * 5 + "F" + "." * 8, "flaky", None, id="once-in-short"),
        pytest.param(".F" * 5, "flaky", None, id="alternating"),
    ],
)
def test_a_history_is_called_what_it_is(text, state, since):
    judged = judge(history(text))
    assert judged.state == state, judged
    assert judged.reasons
    if since is not None:
        assert abs(judged.since - since) <= 1


@pytest.mark.parametrize(
    ("text", "state"),
    [
        pytest.param(". " * 60 + "F.", "flaky", id="retry-passed"),
        pytest.param(". . F. . .", "flaky", id="proof-needs-no-rate"),
        pytest.param(". " * 60 + "FFF", "broken", id="reruns-of-one-commit-count"),
        pytest.param(". " * 60 + ".F F F", "broken", id="same-commit-green-then-red"),
        pytest.param(". " * 60 + ".F", "unknown", id="red-after-green-is-no-proof-yet"),
        pytest.param(". " * 12 + "FF" + " ." * 60, "healthy", id="all-attempts-of-one-commit"),
    ],
)
def test_attempts_on_one_commit_are_evidence_of_their_own(text, state):
    assert judge(on(text)).state == state


def test_a_break_says_since_when_with_an_interval_and_how_unlikely_a_flake_is():
    judged = judge(history("." * 20 + "F" + "." * 39 + "FFFF"))
    assert judged.since == 60
    low, high = judged.suspects
    assert low <= 60 <= high
    assert judged.chance < 1e-4
    assert "failed 4 times in a row, before that 1 of 60 runs" in judged.reasons[0]


def test_a_green_commit_that_turned_red_is_called_the_environment():
    judged = judge(on(". " * 60 + ".F F F"))
    assert "environment" in judged.reasons[1]


def test_a_young_streak_says_how_many_more_failures_would_decide():
    judged = judge(history(GREEN + "F"))
    assert judged.more_failures == 2
    assert "2 more in a row would say broken" in judged.reasons[0]


@given(st.lists(st.booleans(), max_size=80))
def test_any_history_is_judged_within_its_bounds(outcomes):
    judged = judge(history("".join("F" if bad else "." for bad in outcomes)))
    assert 0 <= judged.rate.low <= judged.rate.high <= 1
    assert judged.failures <= judged.runs <= len(outcomes)
    if judged.since is not None:
        assert 0 <= judged.since < len(outcomes)
    if judged.state == "healthy":
        assert not outcomes[-1]


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_the_walk_says_at_each_run_what_is_said_of_the_runs_so_far(outcomes):
    walked = opened(np.array([outcomes]))[0]
    for end in range(1, len(outcomes) + 1):
        assert walked[end - 1] == opened(np.array([outcomes[:end]]))[0, -1]


def test_stationary_flakes_are_hardly_ever_opened():
    drawn = np.random.default_rng(17).random((4000, 100))
    for rate in (0.05, 0.1, 0.2):
        assert opened(drawn < rate).any(axis=1).mean() <= 0.01


def test_what_was_promised_opens_it():
    for failures in (0, 3, 12):
        more = more_failures(60 + 1, failures + 1, 1)
        walk = np.r_[np.arange(60) < failures, np.ones(1 + more, bool)]
        walk[:60] = np.random.default_rng(1).permutation(walk[:60])
        walk[59] = False
        if walk[:60].sum() == failures:
            assert opened(walk[None, :])[0, -1]


def test_a_history_of_failures_alone_is_no_stretch_of_it():
    assert broken_stretches(np.ones(20, bool)) == []
    failed = np.zeros(100, bool)
    failed[40:48] = True
    assert broken_stretches(failed) == [(40, 48)]


def test_a_history_must_name_each_runs_commit():
    with pytest.raises(ValueError, match="commit"):
        History(failed=(True, False), commits=("c1",))


@pytest.mark.parametrize(("rate", "runs"), [(0.05, 59), (0.2, 14), (0.5, 5), (1.0, 1)])
def test_clean_runs_are_as_many_as_the_formula_says(rate, runs):
    assert clean_runs_needed(rate) == runs


@given(st.floats(0.001, 0.999))
def test_so_many_passes_are_luck_with_one_in_twenty_and_one_fewer_is_likelier(rate):
    runs = clean_runs_needed(rate)
    assert (1 - rate) ** runs <= 0.05 * (1 + 1e-6)
    assert (1 - rate) ** (runs - 1) > 0.05 * (1 - 1e-6)
    assert clean_runs_asked(rate, 0) == runs <= clean_runs_asked(rate, 1)


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.1])
def test_a_rate_that_is_none_is_refused(rate):
    with pytest.raises(ValueError, match="failure rate"):
        clean_runs_needed(rate)


def test_clean_runs_are_counted_from_the_last_failure():
    assert clean_runs([False, True, False, False]) == 2
    assert clean_runs([]) == 0
