"""Which issues about flaky tests are proposed, opened and told."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from fake_codehost import FakeCodeHost

from gauntlet.analyzer.acting.policy import Limits
from gauntlet.analyzer.flakes.found import Recorded, judge_all
from gauntlet.analyzer.flakes.judge import History
from gauntlet.analyzer.flakes.proposals import marker
from gauntlet.analyzer.flakes.propose import Desk, past_proposals, propose_flakes
from gauntlet.core.errors import ExternalServiceError
from gauntlet.services.switch import Permit
from gauntlet.services.transport import MaybeDoneError

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
GO = Permit(given=True, reason="on")
ACT = Limits(mode="act", cool_down_minutes=0)


def flakes(*names):
    """Tests that fail once in five runs, steadily."""
    text = "....F" * 20
    return judge_all(
        [
            Recorded(
                kind="test",
                nodeid=name,
                file=name.partition("::")[0],
                job_key="job",
                queue="gpu",
                history=History(
                    failed=tuple(mark == "F" for mark in text),
                    commits=tuple(f"c{n}" for n in range(len(text))),
                    positions=tuple(range(1, len(text) + 1)),
                ),
                times=tuple(NOW + timedelta(hours=n) for n in range(len(text))),
                runs=len(text),
                failures=20,
                last_at=NOW,
            )
            for name in names
        ],
        [],
    )


def propose(found, *, limits=ACT, past=(), host=None, signatures=None, permit=GO, **options):
    desk = Desk(limits=limits, permit=permit, now=NOW, host=host, **options)
    return propose_flakes(found, signatures or {}, past, desk)


def past_of(proposed, *, days=0):
    rows = [
        {
            "subject": row.subject,
            "outcome": row.outcome,
            "mode": row.mode,
            "evidence": row.evidence,
            "at": row.at - timedelta(days=days),
        }
        for row in proposed.rows
    ]
    return past_proposals(rows)


def test_an_issue_is_opened_with_its_marker_and_recorded():
    host = FakeCodeHost()
    found = propose(flakes("t.py::a"), host=host)
    (made,) = found.made
    assert (made.outcome, made.url) == ("opened", host.issues[1].url)
    assert marker(made.proposal.key) in host.issues[1].text
    (row,) = found.rows
    assert (row.kind, row.subject, row.outcome, row.mode) == (
        "annotation", "test/t.py::a", "opened", "act",
    )  # fmt: skip
    evidence = json.loads(row.evidence)
    assert evidence["url"] == made.url
    assert evidence["marker"] == marker(made.proposal.key)
    assert found.entries[0].links == (("issue", made.url),)


def test_one_issue_for_one_cause():
    host = FakeCodeHost()
    tests = flakes("t.py::a", "u.py::b", "v.py::c")
    alike = {"test/t.py::a": "timeout in server", "test/u.py::b": "timeout in server"}
    found = propose(tests, host=host, signatures=alike)
    assert len(host.issues) == 2
    assert sorted(row.subject for row in found.rows) == [
        "test/t.py::a", "test/u.py::b", "test/v.py::c",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("limits", "mode", "told"),
    [
        pytest.param(Limits(), "shadow", 0, id="shadow"),
        pytest.param(Limits(mode="notify"), "notify", 1, id="notify"),
    ],
)
def test_below_act_nothing_is_opened(limits, mode, told):
    host = FakeCodeHost()
    found = propose(flakes("t.py::a"), limits=limits, host=host)
    assert host.issues == {}
    assert [(row.outcome, row.mode) for row in found.rows] == [("proposed", mode)]
    assert len(found.entries) == told
    assert found.made[0].leave.stops == ()


@pytest.mark.parametrize(
    ("options", "stop"),
    [
        pytest.param({"permit": Permit(given=False, reason="it is off")}, "it is off", id="switch"),
        pytest.param({"host": None}, "no code host", id="no-host"),
    ],
)
def test_a_rail_that_holds_it_back_is_told(options, stop):
    host = FakeCodeHost()
    found = propose(flakes("t.py::a"), **{"host": host, **options})
    assert host.issues == {}
    (made,) = found.made
    assert (made.outcome, made.leave.mode) == ("proposed", "notify")
    assert any(stop in each for each in made.leave.stops)
    assert any(stop in fact for fact in found.entries[0].facts)


def test_a_host_that_cannot_be_read_opens_nothing():
    host = FakeCodeHost()
    host.broken = True
    found = propose(flakes("t.py::a"), host=host)
    assert host.asked == ["open_issues"]
    assert "the open issues cannot be read" in found.made[0].leave.stops[0]


def test_what_is_open_is_not_opened_again():
    host = FakeCodeHost()
    propose(flakes("t.py::a"), host=host)
    again = propose(flakes("t.py::a"), host=host)
    assert (len(host.issues), again.made) == (1, ())
    assert list(again.held_back.values()) == ["proposed already"]


def test_a_test_that_stands_in_an_open_issue_is_covered():
    host = FakeCodeHost()
    body = "| `t.py::a[x\\|y]` | job |"
    host.open_issue(title="mine", body=body, labels=["flaky-test"])
    found = propose(flakes("t.py::a[x|y]"), host=host)
    assert found.made == ()
    assert "in an open proposal" in next(iter(found.held_back.values()))


def test_quarantined_tests_are_covered():
    held = [replace(each, quarantined=True) for each in flakes("t.py::a")]
    assert propose(held, host=FakeCodeHost()).made == ()


def test_so_many_a_day_and_the_rest_the_next_day():
    host = FakeCodeHost()
    tests = flakes("a.py::a", "b.py::b", "c.py::c")
    limits = Limits(mode="act", per_day=2, cool_down_minutes=0)
    first = propose(tests, host=host, limits=limits)
    assert len(host.issues) == 2
    assert "over the cap of 2 a day" in first.held_back.values()
    same_day = propose(tests, host=host, limits=limits, past=past_of(first))
    assert (len(host.issues), same_day.made) == (2, ())
    propose(tests, host=host, limits=limits, past=past_of(first, days=2))
    assert len(host.issues) == 3


def test_the_cool_down_holds_the_second_back():
    host = FakeCodeHost()
    limits = Limits(mode="act", cool_down_minutes=60)
    found = propose(flakes("a.py::a", "b.py::b"), host=host, limits=limits)
    assert [each.outcome for each in found.made] == ["opened", "proposed"]
    assert "wait 60 minutes" in found.made[1].leave.stops[0]


def test_what_was_told_is_not_told_again_before_two_weeks_unless_more_is_allowed():
    limits = Limits(mode="notify")
    first = propose(flakes("t.py::a"), limits=limits)
    assert propose(flakes("t.py::a"), limits=limits, past=past_of(first)).rows == ()
    late = propose(flakes("t.py::a"), limits=limits, past=past_of(first, days=20))
    assert len(late.rows) == 1
    host = FakeCodeHost()
    propose(flakes("t.py::a"), host=host, past=past_of(first))
    assert len(host.issues) == 1


def test_a_closed_issue_is_not_opened_again_at_once():
    host = FakeCodeHost()
    first = propose(flakes("t.py::a"), host=host)
    host.issues[1] = replace(host.issues[1], open=False)
    assert propose(flakes("t.py::a"), host=host, past=past_of(first)).made == ()


@pytest.mark.parametrize("arrived", [True, False])
def test_an_issue_whose_answer_was_lost_is_looked_up(arrived):
    class Lossy(FakeCodeHost):
        def open_issue(self, **given):
            if arrived:
                super().open_issue(**given)
            raise MaybeDoneError("POST issues: whether it was done is not known")

    host = Lossy()
    found = propose(flakes("t.py::a"), host=host)
    assert found.made[0].outcome == ("opened" if arrived else "proposed")
    assert found.rows[0].mode == ("act" if arrived else "notify")


def test_one_refusal_does_not_hold_the_others_back():
    class Picky(FakeCodeHost):
        def open_issue(self, **given):
            if "a.py" in given["title"]:
                raise ExternalServiceError("422")
            return super().open_issue(**given)

    host = Picky()
    found = propose(flakes("a.py::a", "b.py::b"), host=host)
    assert sorted(each.outcome for each in found.made) == ["opened", "proposed"]
    assert "422" in str([each.leave.stops for each in found.made])


def test_a_dry_run_opens_nothing():
    host = FakeCodeHost()
    found = propose(flakes("t.py::a"), host=host, dry_run=True)
    assert host.issues == {}
    assert found.plain()["proposals"][0]["body"].startswith("<!-- gauntlet-flake: ")
    assert "proposed (act)" in "\n".join(found.lines())


def test_other_annotations_are_no_proposals():
    other = {"subject": "x", "outcome": "y", "mode": "act", "at": NOW}
    rows = [{**other, "evidence": "no JSON"}, {**other, "evidence": '{"marker": "z"}'}]
    assert past_proposals(rows) == []
