"""Candidates, their gates and waivers, and what a person may do about them."""

import json
from datetime import timedelta

import pytest
from factories import batch, decision_row, repetition_row, run_row

from gauntlet.core.clock import utc_now
from gauntlet.hud.acting.actors import Actors
from gauntlet.hud.releases.frames import artifacts
from gauntlet.warehouse.store import open_store

HOSTILE = "<img src=x onerror=alert(1)> [x](javascript:y)"


def decided(run_id, outcome="NOT QUALIFIED", *, accuracy="FAIL", age=timedelta(0), evidence="{}"):
    at = utc_now() - age
    release = decision_row(run_id, "release", "qualification", outcome=outcome, evidence=evidence)
    gates = [
        decision_row(run_id, "gate", "accuracy", outcome=accuracy, reason=HOSTILE),
        decision_row(run_id, "gate", "performance", outcome="PASS"),
        decision_row(run_id, "verdict", "eval/gsm8k/accuracy", outcome="worse", reason=HOSTILE),
        decision_row(run_id, "verdict", "load/random/tpot_ms/p50", outcome="same"),
    ]
    rows = [each.model_copy(update={"at": at, "blocking": True}) for each in (release, *gates)]
    return [run_row(run_id, status="complete"), repetition_row(run_id, side="candidate"), *rows]


def waiver(run_id, outcome="waived", *, expires=timedelta(days=2), age=timedelta(0)):
    now = utc_now()
    row = decision_row(run_id, "waiver", "gate/accuracy", outcome=outcome, reason=HOSTILE)
    return row.model_copy(
        update={
            "decision_id": f"{run_id}/{outcome}/{age}",
            "at": now - age,
            "expires_at": now + expires,
            "actor": "bob",
        }
    )


def store(location, *rows):
    with open_store(location) as opened:
        opened.insert(batch("releases", *rows))


def test_without_a_candidate_the_page_says_what_makes_one(show):
    assert "make demo" in show("releases").text


def test_candidates_are_listed_newest_first_with_their_gates(show, location):
    store(
        location,
        *decided("rc1", age=timedelta(days=2)),
        *decided("rc2", "QUALIFIED", accuracy="PASS"),
    )
    shown = show("releases")
    table = shown.tables[0]
    assert list(table["candidate"]) == ["./releases?candidate=rc2", "./releases?candidate=rc1"]
    assert list(table["decision"]) == ["✓ QUALIFIED", "✕ NOT QUALIFIED"]
    assert list(table["gate accuracy"]) == ["✓ PASS", "✕ FAIL"]
    assert "Newest qualified rc2" in shown.text
    assert shown.asked == {"candidates": 1}
    assert show("releases", shown.reader).asked == {"candidates": 1}


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        (waiver("rc1"), "⚑ WAIVED"),
        (waiver("rc1", expires=timedelta(hours=-1), age=timedelta(days=1)), "✕ FAIL"),
        (waiver("rc1", "withdrawn"), "✕ FAIL"),
    ],
    ids=["holds", "is over", "was withdrawn"],
)
def test_only_a_waiver_that_holds_counts(show, location, row, shown):
    store(location, *decided("rc1"), row)
    assert list(show("releases").tables[0]["gate accuracy"]) == [shown]


def test_one_candidate_says_what_blocks_and_who_waived_it(show, location):
    store(location, *decided("rc1"), waiver("rc1"))
    shown = show("releases", candidate="rc1")
    assert "✕ NOT QUALIFIED: rc1" in shown.text
    assert "by bob until" in shown.said
    assert "1 d 23 h left" in shown.said or "2 d left" in shown.said
    blocking = shown.tables[0]
    assert list(blocking["objective"]) == ["gsm8k accuracy"]
    assert "No artifact is on record" in shown.text
    assert shown.asked == {"candidates": 1, "run_decisions": 1}


def test_what_records_say_is_text_and_never_markup(show, location):
    store(location, *decided("rc1"), waiver("rc1"))
    shown = show("releases", candidate="rc1")
    marked_up = [str(each.value) for each in (*shown.test.markdown, *shown.test.caption)]
    marked_up += [str(each.proto.body) for each in shown.test.get("html")]
    assert not [text for text in marked_up if "<img" in text or "](javascript" in text]
    assert any(HOSTILE in str(each.value) for each in shown.test.text)


def test_a_candidate_that_is_not_there_is_said_so(show, location):
    store(location, *decided("rc1"))
    shown = show("releases", candidate=HOSTILE)
    assert "no such candidate" in shown.text
    assert len(shown.tables) == 1


def test_artifacts_are_shown_with_their_digests():
    named = {"artifacts": [{"name": "engine.whl", "platform": "x86_64", "digest": "sha256:1"}]}
    assert list(artifacts(json.dumps(named))["digest"]) == ["sha256:1"]
    assert artifacts("{}").empty
    assert artifacts('["load/a"]').empty


def test_pages_are_read_only_by_default(show, location):
    store(location, *decided("rc1"))
    test = show("releases", candidate="rc1").test
    assert not [each for each in test.button if "Waive" in each.label]
    assert not test.text_input


def test_a_person_on_the_list_waives_a_gate_once(show, location, monkeypatch):
    store(location, *decided("rc1"))
    allowed = Actors.of("X-Forwarded-User", ["alice"], None)
    monkeypatch.setattr(Actors, "actor", lambda _self, _headers: "alice")
    test = show("releases", actors=allowed, candidate="rc1").test
    waive = next(each for each in test.button if each.label == "Waive")
    waive.click().run()
    assert "needs a reason" in test.error[0].value
    with open_store(location) as opened:
        assert not opened.query("decisions_about", subject="gate/accuracy")
    next(each for each in test.text_input if "waiver" in each.form_id).input(HOSTILE)
    waive = next(each for each in test.button if each.label == "Waive")
    waive.click().run()
    assert not test.exception
    with open_store(location) as opened:
        (row,) = opened.query("decisions_about", subject="gate/accuracy")
    assert (row["outcome"], row["actor"], row["reason"]) == ("waived", "alice", HOSTILE)
    assert "WAIVED" in "".join(str(each.proto.body) for each in test.get("html"))
    assert any(each.label == "Withdraw" for each in test.button)


def test_problems_of_a_gate_are_shown_and_a_waiver_covers_them_alone(show, location, monkeypatch):
    problems = [{"key": "job/kernels", "state": "FAIL", "message": "kernels failed", "remedy": ""}]
    release = decision_row(
        "rc1", "release", "release", outcome="NOT QUALIFIED",
        evidence=json.dumps({"commit": "abcdef0123456789", "gates": {"full-ci": "FAIL"}}),
    )  # fmt: skip
    gate = decision_row(
        "rc1", "gate", "full-ci", outcome="FAIL", evidence=json.dumps({"problems": problems})
    )
    store(location, *(row.model_copy(update={"at": utc_now()}) for row in (release, gate)))
    monkeypatch.setattr(Actors, "actor", lambda _self, _headers: "alice")
    allowed = Actors.of("X-Forwarded-User", ["alice"], None)
    shown = show("releases", actors=allowed, candidate="rc1")
    assert list(shown.tables[0]["why"]) == ["kernels failed"]
    assert "abcdef0123456789" in shown.text
    test = shown.test
    next(each for each in test.text_input if "waiver" in each.form_id).input("known")
    next(each for each in test.button if each.label == "Waive").click().run()
    with open_store(location) as opened:
        (row,) = opened.query("waivers_of", run_id="rc1")
    assert json.loads(row["evidence"])["covers"] == ["job/kernels"]
