"""Given these readings, expect these changes; one alert for each cause."""

from datetime import timedelta

import pytest
from alert_factory import MINUTE, NOW, Watch, known, reading
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.analyzer.alerts.hysteresis import NEWS, judge
from gauntlet.analyzer.alerts.model import Cause, Drained, Silence, Unread
from gauntlet.analyzer.alerts.rules import load_rules

RULES = load_rules()
BUSY = (Cause("queues with busy agents", 3),)
GONE = (Cause("queues with no agents", 3),)


def wait(name, *values, **changes):
    return reading("queue-wait", name, *values, **changes)


def changes(*readings, **options):
    found = judge(readings, rules=RULES, now=NOW, **options)
    return [(each.kind, each.subject) for each in found]


SCENARIOS = {
    "nothing to read": ([], [], []),
    "below the threshold": ([wait("l4", 20)], [], []),
    "long enough above it": ([wait("l4", 40)], [], [("open", "queue-wait/l4")]),
    "above it for one look": ([wait("l4", 10, 10, 10, 40)], [], []),
    "above it, but nobody knows since when": ([wait("l4", 40, 40)], [], []),
    "a dip within the time it must hold": ([wait("l4", 40, 40, 10, 40)], [], []),
    "open and still above": (
        [wait("l4", 41)], [known("queue-wait/l4")], [("still", "queue-wait/l4")]
    ),
    "open and between the thresholds": (
        [wait("l4", 20)], [known("queue-wait/l4")], [("still", "queue-wait/l4")]
    ),
    "open and below the lower one for long": (
        [wait("l4", 5)], [known("queue-wait/l4")], [("close", "queue-wait/l4")]
    ),
    "open and below it only now": (
        [wait("l4", 40, 40, 5, 5)], [known("queue-wait/l4")], [("still", "queue-wait/l4")]
    ),
    "twice as bad as recorded": (
        [wait("l4", 80)], [known("queue-wait/l4")], [("worse", "queue-wait/l4")]
    ),
    "usual at this hour": ([wait("l4", 40, usual=60.0)], [], []),
    "much above what is usual": ([wait("l4", 100, usual=60.0)], [], [("open", "queue-wait/l4")]),
    "nobody reads it any more": ([], [known("queue-wait/l4")], [("stale", "queue-wait/l4")]),
    "no failure of it is left": ([], [known("dependency/ab")], [("close", "dependency/ab")]),
    "closed before": ([wait("l4", 5)], [known("queue-wait/l4", "closed")], []),
    "a host that is accused": (
        [reading("bad-host", "h1", 0.97)], [], [("open", "host/h1")]
    ),
    "a host that is cleared": (
        [reading("bad-host", "h1", 0.01)], [known("host/h1")], [("close", "host/h1")]
    ),
    "a host that runs nothing": ([], [known("host/h1")], [("stale", "host/h1")]),
    "two queues have two alerts": (
        [wait("a", 40, causes=BUSY), wait("b", 50, causes=BUSY)],
        [],
        [("open", "queue-wait/a"), ("open", "queue-wait/b")],
    ),
    "three queues of one cause have one": (
        [wait("a", 40, causes=BUSY), wait("b", 90, causes=BUSY), wait("c", 50, causes=BUSY)],
        [],
        [("open", "queue-wait/b")],
    ),
    "queues of two causes have two": (
        [wait(name, 40, causes=cause) for cause in (BUSY, GONE) for name in
         (f"{cause[0].key[12:14]}{n}" for n in range(3))],
        [],
        [("open", "queue-wait/bu0"), ("open", "queue-wait/no0")],
    ),
    "what is one alert stays one although fewer show it": (
        [wait("a", 41, causes=BUSY), wait("b", 90, causes=BUSY)],
        [known("queue-wait/a", members=("queue-wait/b",))],
        [("still", "queue-wait/a")],
    ),
    "more queues of its cause": (
        [wait(name, 41, causes=BUSY) for name in "abcd"],
        [known("queue-wait/d")],
        [("worse", "queue-wait/d")],
    ),
    "two alerts that turn out to be one tell so": (
        [wait(name, 41, causes=BUSY) for name in "abc"],
        [known("queue-wait/a", at=NOW - 30 * MINUTE), known("queue-wait/b")],
        [("worse", "queue-wait/b"), ("close", "queue-wait/a")],
    ),
    "the first queue recovers, its members do not": (
        [wait("a", 5), *(wait(name, 41, causes=BUSY) for name in "bcd")],
        [known("queue-wait/a", members=("queue-wait/b", "queue-wait/c", "queue-wait/d"))],
        [("still", "queue-wait/a")],
    ),
    "a bad host explains its full disk": (
        [reading("disk-pressure", "h1", 5, causes=(Cause("host/h1"),)),
         reading("bad-host", "h1", 0.99, causes=(Cause("host/h1"),))],
        [],
        [("open", "host/h1")],
    ),
    "its disk was noticed first": (
        [reading("disk-pressure", "h1", 5, causes=(Cause("host/h1"),)),
         reading("bad-host", "h1", 0.99, causes=(Cause("host/h1"),))],
        [known("disk/h1")],
        [("open", "host/h1"), ("close", "disk/h1")],
    ),
    "an outage explains the queues on which it shows": (
        [reading("hub-outage", "hub.example.org", 9, queues=frozenset("abc")),
         *(wait(name, 50, causes=BUSY) for name in "abc")],
        [],
        [("open", "hub/hub.example.org")],
    ),
    "an outage does not explain other queues": (
        [reading("hub-outage", "hub.example.org", 9, queues=frozenset("a")),
         *(wait(name, 50, causes=BUSY) for name in "bcd")],
        [],
        [("open", "hub/hub.example.org"), ("open", "queue-wait/b")],
    ),
    "an install that also fails too fast": (
        [reading("fast-failures", "x", 4, causes=(Cause("signature s"),)),
         reading("broken-dependency", "x", 4, causes=(Cause("signature s"),))],
        [],
        [("open", "dependency/x")],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("readings", "before", "expected"), SCENARIOS.values(), ids=SCENARIOS)
def test_given_these_readings_expect_these_changes(readings, before, expected):
    assert changes(*readings, known=before) == expected


def test_what_cannot_be_read_is_stale_and_says_why():
    unread = [Unread(measure="broken-dependency", reason="no news of jobs")]
    (change,) = judge((), unread=unread, known=[known("dependency/x")], rules=RULES, now=NOW)
    assert (change.kind, change.outcome) == ("stale", "open")
    assert change.reason == "no news of jobs; last: as before"


def test_a_second_look_records_nothing():
    watch = Watch()
    seen = (wait("l4", 40, now=NOW + 5 * MINUTE), reading("bad-host", "h1", 0.97))
    assert watch.news(*seen) == [("open", "queue-wait/l4"), ("open", "host/h1")]
    assert watch.news(*seen, minutes=0) == []
    assert watch.news(*seen, minutes=0) == []


def test_an_alert_that_comes_and_goes_stays_open_longer_each_time():
    watch = Watch()
    said = []
    for minute in range(0, 240, 5):
        value = 1 if minute // 5 % 2 else 3
        said += [
            (minute, kind)
            for kind, _ in watch.news(reading("missing-nightly", "n", 3.5 if value == 3 else 0))
        ]
    assert said[:3] == [(0, "open"), (5, "close"), (10, "open")]
    kinds = [kind for _, kind in said]
    assert kinds.count("open") <= 4
    opened = [minute for minute, kind in said if kind == "open"]
    closed = [minute for minute, kind in said if kind == "close"]
    stays = [end - start for start, end in zip(opened, closed, strict=False)]
    assert stays == sorted(stays)


def test_the_end_of_an_alert_keeps_what_was_done_about_its_host():
    drained = Drained(mode="act", at=NOW - 30 * MINUTE, agents=("a1",))
    (change,) = judge(
        [reading("bad-host", "h1", 0.01)], known=[known("host/h1", drained=drained)],
        rules=RULES, now=NOW,
    )  # fmt: skip
    assert (change.kind, change.evidence.drained) == ("close", drained)


def silence(pattern, minutes=60, at=NOW):
    return Silence(pattern=pattern, until=at + minutes * MINUTE, reason="known", owner="ann", at=at)


def test_a_silenced_alert_is_tracked_and_told_when_the_silence_ends():
    watch = Watch()
    watch.silences = (silence("queue-wait/*", 12),)
    first = watch.look(wait("l4", 40, now=NOW + 5 * MINUTE))
    assert [(each.kind, each.outcome) for each in first] == [("open", "silenced")]
    assert watch.news(wait("l4", 41, now=NOW + 10 * MINUTE)) == []
    (over,) = watch.look(wait("l4", 42, now=NOW + 15 * MINUTE))
    assert (over.kind, over.outcome) == ("unsilence", "open")
    assert over.reason == "the silence is over and it is still open: queue-wait of l4"
    assert watch.news(wait("l4", 5, now=NOW + 20 * MINUTE)) == [("close", "queue-wait/l4")]


def test_an_open_alert_is_silenced_with_who_and_why():
    (change,) = judge(
        [wait("l4", 41)], known=[known("queue-wait/l4")], silences=[silence("queue-wait/l4")],
        rules=RULES, now=NOW,
    )  # fmt: skip
    assert (change.kind, change.outcome) == ("silence", "silenced")
    assert change.reason == "silenced until 2026-11-30 13:00 UTC by ann: known"
    recovered = changes(
        wait("l4", 5), known=[known("queue-wait/l4", "silenced")], silences=[silence("*")]
    )
    assert recovered == [("close", "queue-wait/l4")]


def test_a_silence_of_others_or_of_the_past_silences_nothing():
    past = silence("*", 5, at=NOW - timedelta(hours=1))
    other = silence("disk/*")
    (change,) = judge([wait("l4", 41)], silences=[past, other], rules=RULES, now=NOW)
    assert change.outcome == "open"


@given(st.lists(st.lists(st.sampled_from([0, 20, 40, 90]), min_size=4, max_size=4), max_size=12))
def test_every_alert_opens_and_closes_in_turn_and_no_look_says_it_twice(looks):
    watch = Watch()
    told = {}
    for values in looks:
        now = watch.now + 5 * MINUTE
        seen = [wait(f"q{n}", value, now=now, causes=BUSY) for n, value in enumerate(values)]
        for kind, subject in watch.news(*seen):
            assert told.get(subject) != kind or kind == "worse"
            assert kind != "close" or subject in told
            told[subject] = kind if kind != "worse" else told[subject]
        assert watch.news(*seen, minutes=0) == []


def test_news_are_what_is_recorded():
    assert {"still", "stale"}.isdisjoint(NEWS)
