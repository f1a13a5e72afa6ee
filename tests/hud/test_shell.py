"""Addresses, times, words and the menu, as all pages share them."""

import re
from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.hud import palette
from gauntlet.hud.pages import PAGES
from gauntlet.hud.shell.links import link, web_address
from gauntlet.hud.shell.menu import menu_html
from gauntlet.hud.shell.times import Zone, ago, duration
from gauntlet.hud.shell.words import plain

NOW = datetime(2026, 3, 29, 0, 30, tzinfo=UTC)


def test_a_link_has_what_is_given_and_the_viewers_own_settings():
    assert link("jobs", {"tz": "local"}, job="a b&c", branch=None, find="") == (
        "./jobs?tz=local&job=a+b%26c"
    )
    assert link("", commits=0) == "./?commits=0"
    assert link("") == "./"


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "//evil",
        "ftp://x",
        "",
        None,
    ],
)
def test_only_addresses_of_the_web_come_from_records(url):
    assert web_address(url) is None


def test_an_address_of_the_web_stays_as_it_is():
    assert web_address("https://ci.example/builds/1?x=1#y") == "https://ci.example/builds/1?x=1#y"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (59.4, "59 s"),
        (60, "1 min"),
        (3600, "1 h"),
        (12_000, "3 h 20 min"),
        (86_400, "1 d"),
        (86_400 * 4.25, "4 d 6 h"),
        (None, "\N{EN DASH}"),
        (float("nan"), "\N{EN DASH}"),
    ],
)
def test_durations_in_words(seconds, words):
    assert duration(seconds) == words


def test_what_is_in_the_future_by_a_clock_s_error_is_now():
    assert ago(NOW + timedelta(seconds=4), NOW) == "0 s ago"
    assert ago(NOW - timedelta(minutes=12), NOW) == "12 min ago"
    assert ago(None, NOW) == "\N{EN DASH}"


@pytest.mark.parametrize(
    ("name", "zone"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        ("Mars/Phobos", "UTC"),
        ("../etc/passwd", "UTC"),
        (None, "UTC"),
    ],
)
def test_a_browser_s_zone_is_taken_where_it_is_one(name, zone):
    assert Zone.of_browser(name).name == zone


def test_the_wall_clock_jumps_where_the_zone_does():
    zone = Zone("Europe/Berlin")
    instants = pd.Series([NOW, NOW + timedelta(hours=1)])
    assert [zone.text(each) for each in instants] == ["2026-03-29 01:30", "2026-03-29 03:30"]
    assert [f"{each:%H:%M %Z}" for each in zone.wall(instants)] == ["01:30 UTC", "03:30 UTC"]


@given(st.text(alphabet=st.one_of(st.characters(), st.sampled_from("`*_[]()<>$:\\#"))))
def test_plain_text_reads_as_it_was_and_marks_nothing(text):
    shown = plain(text)
    assert re.sub(r"\\(.)", r"\1", shown) == " ".join(text.split())
    assert not re.search(r"(?<!\\)[`*_\[\]<>$:]", re.sub(r"\\\\", "", shown))


def test_very_long_text_is_cut():
    assert len(plain("x" * 10_000)) < 1_000


def test_the_menu_names_the_page_that_is_shown_and_keeps_the_zone():
    html = menu_html(PAGES, "queues", {"tz": "local"})
    assert html.count("aria-current='page'") == 1
    assert "<a href='./queues?tz=local' aria-current='page'>" in html
    assert html.count("<li>") == len(PAGES)


def contrast(one, other):
    """Contrast of two colours (WCAG 2.2)."""

    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", ["JOB_STATES", "VERDICTS", "GATES", "DECISIONS"])
def test_states_can_be_read_and_told_apart_without_colour(name):
    looks = getattr(palette, name)
    for look in looks.values():
        assert contrast(look.colour, look.ink) >= 4.5, look
    assert len({look.sign for look in looks.values()}) == len(looks)


def test_a_state_that_nobody_knows_stays_a_word():
    assert palette.signed(palette.GATES, "ODD") == "ODD"
    assert palette.cell_style(palette.GATES, "ODD") == ""
    twice = palette.signed(palette.GATES, palette.signed(palette.GATES, "PASS"))
    assert twice == "✓ PASS"
