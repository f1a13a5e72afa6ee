"""Reports: what they say, what free text may not do in them, and that each is delivered once."""

import json
from dataclasses import replace
from datetime import date

import pytest
from ci_scenarios import START, history, runs
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.analyzer.incidents.detect import detect
from gauntlet.analyzer.incidents.incident import Recorded
from gauntlet.analyzer.incidents.recorded import continue_incidents
from gauntlet.analyzer.incidents.update import Picture
from gauntlet.analyzer.reports.assemble import Found, assemble
from gauntlet.analyzer.reports.delivery import Board, deliver_report
from gauntlet.analyzer.reports.markdown import markdown
from gauntlet.analyzer.reports.model import Entry, Report, Section
from gauntlet.analyzer.reports.slack import night_message, thread_messages
from gauntlet.analyzer.reverts.record import precision
from gauntlet.core.errors import ExternalServiceError
from gauntlet.services.chat.port import Posted
from gauntlet.services.escape import code, one_line, plain, slack, web_address

NIGHT = date(2026, 11, 20)


def picture(*parts, recorded=()):
    now = history(*parts)
    going, ended = continue_incidents(detect(now), recorded, now)
    return Picture(branch="main", at=now.now, open=tuple(going), ended=tuple(ended), builds=9)


def found(**changes):
    fields = {"night": NIGHT, "branch": "main", "picture": None, "measured": None}
    return Found(**{**fields, **changes})


def test_a_quiet_night_says_so():
    report = assemble(found(picture=picture(runs("a", "PPPP"))))
    assert report.headline == "nothing is broken"
    text = markdown(report)
    assert "## Newly broken\n\nNothing." in text


def test_what_was_not_looked_at_is_not_passed_over():
    report = assemble(found(unknown=("incidents: the warehouse is away",)))
    assert report.headline == "1 not looked at"
    assert "the warehouse is away" in markdown(report)
    assert "the warehouse is away" in json.dumps(night_message(report).blocks)


def test_new_known_and_ended_stand_apart_with_how_to_go_on():
    (old,) = detect(history(runs("old", "PPPPPPPPFFF")))
    (gone,) = detect(history(runs("gone", "PPPPPPGGGGG")))
    known = [
        Recorded(
            incident_id=each.incident_id, outcome="open", reason="", at=START, evidence=each.plain()
        )
        for each in (old, gone)
    ]
    now = picture(
        runs("old", "PPPPPPPPFFFFF"),
        runs("gone", "PPPPPPGGGGGPP"),
        runs("new", "PPPPPPPPPP.HHH"),
        recorded=known,
    )
    report = assemble(found(picture=now, hud_url="https://hud.example.com"))
    names = {s.name: [e.title for e in s.entries] for s in report.sections if s.entries}
    assert names == {
        "Newly broken": ["assert logprobs == expected in new"],
        "Still broken": ["KeyError in load_weights in old"],
        "Fixed": ["undefined symbol in _C.so in gone"],
    }
    assert report.headline == "1 newly broken, 1 still broken, 1 fixed"
    text = markdown(report)
    assert "suspects: 011cccccc" in text
    assert "(https://hud.example.com/jobs?job=new)" in text


def test_the_precision_of_the_bot_is_told_with_its_interval():
    told = precision(["merged"] * 8 + ["closed", "fixed-forward", "opened"])
    assert (told.right, told.wrong, told.waiting) == (9, 1, 1)
    report = assemble(found(precision=told))
    assert report.footer[0].startswith("Reverts of 30 days: 9 of 10 right (90%, 95 % interval 55%")
    assert str(precision(["opened"])) == "none decided yet, 1 waiting"


HOSTILE = "<!channel> *bold* [x](javascript:y) `code` @here | <https://evil|good>\n# head\x07"


def hostile_report():
    entry = Entry(
        key="k",
        title=HOSTILE,
        facts=(HOSTILE,),
        links=(("x](y", "javascript:alert(1)"), ("fine", "https://a.example/?q=(1)|2")),
        command="echo '```' && rm",
    )
    section = Section(name="Newly broken", entries=(entry,), threads=True)
    return Report(night=NIGHT, branch="`main`", headline=HOSTILE, sections=(section,))


def test_free_text_means_nothing_in_markdown():
    text = markdown(hostile_report())
    assert "\\[x\\](javascript" in text
    assert "](javascript" not in text.replace("\\](", "")
    assert "\n# head" not in text
    assert "@here" not in text
    assert "(https://a.example/?q=%281%29%7C2)" in text


def test_free_text_means_nothing_in_slack():
    report = hostile_report()
    for message in (night_message(report), *thread_messages(report)):
        # A header is plain text, which Slack does not read.
        read = [block for block in message.blocks if block["type"] != "header"]
        shown = json.dumps(read, ensure_ascii=False)
        assert "<!channel>" not in shown
        assert "<https://evil" not in shown
        assert "<javascript" not in shown
        assert "@here" not in shown.replace("\u200b@", "")


@given(st.text(max_size=80))
def test_code_stays_code_whatever_stands_in_it(text):
    flat = one_line(text)
    shown = code(text)
    fence = shown[: len(shown) - len(shown.lstrip("`"))]
    assert shown.endswith(fence)
    assert fence not in shown[len(fence) : -len(fence)] or not flat
    assert "\n" not in shown


@given(st.text(max_size=80))
def test_escaped_text_has_no_mark_that_is_not_escaped(text):
    shown = plain(text)
    assert plain("test_one[a_b] _x_") == "test_one\\[a_b\\] \\_x\\_"
    for mark in "*[]<>`|":
        assert mark not in shown.replace(f"\\{mark}", "").replace("\\\\", "")
    assert "<" not in slack(text)


@pytest.mark.parametrize(
    "address",
    ["javascript:x", "ftp://x/y", "https://", "//x", "", "http://[::1", "data:text/html,x"],
)
def test_only_web_addresses_become_links(address):
    assert web_address(address) is None


def test_a_message_stays_within_what_slack_takes():
    entries = tuple(Entry(key=str(n), title="x" * 290, facts=("y" * 290,) * 40) for n in range(400))
    sections = tuple(Section(name=f"S{n}", entries=entries, threads=True) for n in range(60))
    report = Report(night=NIGHT, branch="main", headline="h" * 400, sections=sections)
    few = replace(report, sections=(replace(sections[0], entries=entries[:2]),))
    for message in (night_message(report), *thread_messages(few)):
        assert len(message.blocks) <= 50
        for block in message.blocks:
            for part in (block.get("text"), *block.get("elements", ())):
                assert part is None or 0 < len(part["text"]) <= 3000


class FakeChat:
    def __init__(self, *, edits=True, fails_after=None):
        self.edits, self.fails_after, self.log = edits, fails_after, []
        self.deleted = set()

    def _count(self):
        if self.fails_after is not None and len(self.log) >= self.fails_after:
            raise ExternalServiceError("the chat is away")

    def post(self, message, *, thread=None):
        self._count()
        self.log.append(("post", message.key, thread.stamp if thread else None))
        return Posted(channel="C1", stamp=str(len(self.log))) if self.edits else None

    def edit(self, posted, message):
        self._count()
        self.log.append(("edit", message.key, posted.stamp))
        return posted.stamp not in self.deleted


def two(title="one"):
    entries = (Entry(key="inc-1", title=title), Entry(key="inc-2", title="two"))
    section = Section(name="Newly broken", entries=entries, threads=True)
    return Report(night=NIGHT, branch="main", headline="2 broken", sections=(section,))


MAIN = f"night/{NIGHT}"


def test_a_report_is_posted_once_and_then_edited_in_place():
    chat, board = FakeChat(), Board()
    assert deliver_report(two(), chat, board) == 3
    assert chat.log == [("post", MAIN, None), ("post", "inc-1", "1"), ("post", "inc-2", "1")]
    assert deliver_report(two(), chat, Board.of(json.loads(json.dumps(board.plain())))) == 0
    assert deliver_report(two("other"), chat, board) == 2
    assert chat.log[3:] == [("edit", MAIN, "1"), ("edit", "inc-1", "2")]


def test_a_message_that_somebody_deleted_is_posted_again_with_its_news():
    chat, board = FakeChat(), Board()
    deliver_report(two(), chat, board)
    chat.deleted = {"1"}
    deliver_report(two("other"), chat, board)
    assert chat.log[3:6] == [("edit", MAIN, "1"), ("post", MAIN, None), ("edit", "inc-1", "2")]
    assert board.main.stamp == "5"


def test_a_delivery_that_broke_off_goes_on_where_it_stopped():
    board = Board()
    with pytest.raises(ExternalServiceError):
        deliver_report(two(), FakeChat(fails_after=2), board)
    chat = FakeChat()
    assert deliver_report(two(), chat, board) == 1
    assert chat.log == [("post", "inc-2", "1")]


def test_a_webhook_gets_one_message_and_another_only_for_news():
    chat, board = FakeChat(edits=False), Board()
    assert deliver_report(two(), chat, board) == 1
    assert deliver_report(two(), chat, board) == 0
    assert deliver_report(replace(two(), headline="3 broken"), chat, board) == 1
    assert [what for what, _, _ in chat.log] == ["post", "post"]
