"""The window of a release, by the clock on the team's wall."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from releasing import at

from gauntlet.core.errors import ConfigError, InfrastructureError
from gauntlet.core.yaml_file import parse_yaml, validate_model
from gauntlet.release.picks.rules import Moment, Schedule
from gauntlet.release.picks.window import late_picks, next_cut, window_of

BERLIN = Schedule(time_zone="Europe/Berlin")


@pytest.mark.parametrize(
    ("schedule", "cut", "closes", "ships"),
    [
        pytest.param(Schedule(), "2026-11-30 09:00", "2026-12-02 17:00", "2026-12-04 17:00",
                     id="UTC"),
        pytest.param(BERLIN, "2026-11-30 09:00", "2026-12-02 16:00", "2026-12-04 16:00",
                     id="winter"),
        pytest.param(BERLIN, "2026-07-06 09:00", "2026-07-08 15:00", "2026-07-10 15:00",
                     id="summer"),
        pytest.param(
            Schedule(time_zone="Europe/Berlin", picks_close=Moment(weekday="sunday")),
            "2026-03-27 09:00", "2026-03-29 15:00", "2026-04-03 15:00", id="the clock went on"),
        pytest.param(
            Schedule(time_zone="Europe/Berlin", picks_close=Moment(weekday="sunday", time="02:30")),
            "2026-03-27 09:00", "2026-03-29 01:30", "2026-04-03 15:00", id="an hour that is not"),
        pytest.param(Schedule(time_zone="America/Los_Angeles"), "2026-11-02 01:00",
                     "2026-11-05 01:00", "2026-11-07 01:00", id="Sunday there"),
        pytest.param(Schedule(), "2026-12-02 17:00", "2026-12-09 17:00", "2026-12-11 17:00",
                     id="cut as it closes"),
    ],
)  # fmt: skip
def test_a_window_closes_and_ships_by_local_time(schedule, cut, closes, ships):
    window = window_of(schedule, at(cut))
    assert (window.closes, window.ships) == (at(closes), at(ships))


def test_the_moment_of_closing_is_closed_and_is_told_in_local_words():
    window = window_of(BERLIN, at("2026-11-30 09:00"))
    assert window.is_open(window.closes - timedelta(microseconds=1))
    assert not window.is_open(window.closes)
    assert window.line(window.closes) == ("the window closed on Wednesday 2026-12-02 17:00 CET")


def test_a_clock_behind_the_cut_is_refused_with_both_times():
    window = window_of(BERLIN, at("2026-11-30 09:00"))
    with pytest.raises(InfrastructureError) as caught:
        window.is_open(at("2026-11-30 08:59"))
    assert "2026-11-30 09:00:00 UTC, and here it is 2026-11-30 08:59:00 UTC" in str(caught.value)


@given(
    st.datetimes(at("2026-01-01 00:00").replace(tzinfo=None), at("2027-01-01 00:00").replace(
        tzinfo=None)),
    st.sampled_from(["UTC", "Europe/Berlin", "America/Los_Angeles", "Asia/Kolkata"]),
)  # fmt: skip
def test_a_window_is_never_empty_and_closes_within_a_week_or_so(naive, zone):
    cut = at(naive.isoformat())
    window = window_of(Schedule(time_zone=zone), cut)
    assert cut < window.closes < window.ships
    assert window.closes - cut <= timedelta(days=7, hours=1)


def test_the_next_cut_is_two_weeks_later_on_its_weekday():
    assert next_cut(Schedule(), at("2026-12-01 09:00")) == date(2026, 12, 14)


def test_only_what_mends_a_blocker_is_not_late():
    picks = [("#1", ("pick",)), ("#2", ("release-blocker",))]
    assert late_picks(picks, blocker_label="release-blocker", blocker="") == ("#1",)
    assert late_picks(picks, blocker_label="release-blocker", blocker="incident 3") == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("time_zone: Europe/Berlim", "no time zone that this machine knows"),
        ("picks_close: {weekday: wednesday, time: 17:00}", 'write it in quotes: "17:00"'),
        ("picks_close: {weekday: someday}", "someday"),
        ("every_weeks: 0", "greater than or equal to 1"),
    ],
)
def test_mistakes_in_a_schedule_are_named(text, words):
    with pytest.raises(ConfigError) as caught:
        validate_model(parse_yaml(text, file="policy.yaml"), Schedule)
    assert words in str(caught.value)
