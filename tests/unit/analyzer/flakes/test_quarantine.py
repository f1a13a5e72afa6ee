"""Who may go into quarantine, and when it is over."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from gauntlet.analyzer.flakes.codeowners import owners_of, read_codeowners
from gauntlet.analyzer.flakes.edges import export_text, raise_for
from gauntlet.analyzer.flakes.found import (
    Recorded,
    judge_all,
    minutes_lost,
    with_job_passes,
)
from gauntlet.analyzer.flakes.judge import History
from gauntlet.analyzer.flakes.layout import change_lines, flake_lines, quarantine_lines
from gauntlet.analyzer.flakes.names import covers
from gauntlet.analyzer.flakes.proposals import marker, plan_proposals
from gauntlet.analyzer.flakes.quarantine import (
    Admission,
    Blockers,
    admit,
    change_rows,
    look,
    open_quarantines,
    release,
)
from gauntlet.core.errors import NotQualifiedError, UsageError

NOW = datetime(2026, 3, 1, tzinfo=UTC)
FLAKY = "....F" * 20


def recorded(text, nodeid="t.py::a", job_key="job", *, kind="test", since=NOW, **changes):
    fields = {
        "kind": kind,
        "nodeid": nodeid if kind == "test" else "",
        "file": nodeid.partition("::")[0] if kind == "test" else "",
        "job_key": job_key,
        "queue": "gpu",
        "history": History(
            failed=tuple(mark == "F" for mark in text),
            commits=tuple(f"c{number}" for number in range(len(text))),
            positions=tuple(range(1, len(text) + 1)),
        ),
        "times": tuple(since + timedelta(hours=number) for number in range(len(text))),
        "runs": len(text),
        "failures": text.count("F"),
        "last_at": since + timedelta(hours=len(text)),
    }
    return Recorded(**{**fields, **changes})


def admission(subject="test/t.py::a", **changes):
    return Admission(
        **{"subject": subject, "owner": "ann", "reason": "races", "actor": "ann", **changes}
    )


def admitted(text=FLAKY, *, blockers=None, present=(), **changes):
    flakes = judge_all([recorded(text)] if text else [], [])
    return admit(
        admission(**changes), flakes, blockers=blockers or Blockers(), present=present, now=NOW
    )


def opened(row):
    return open_quarantines([row.model_dump()])


def test_a_flake_goes_in_with_owner_reason_end_and_the_passes_that_free_it():
    row = admitted()
    assert (row.subject, row.outcome, row.blocking) == ("test/t.py::a", "quarantined", False)
    assert row.expires_at == NOW + timedelta(days=14)
    evidence = json.loads(row.evidence)
    assert evidence["owner"] == "ann"
    assert evidence["release_rate"] < evidence["rate"]
    assert evidence["clean_runs_needed"] == 19


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        pytest.param({"text": "." * 60 + "FFF"}, "is broken, not flaky", id="break"),
        pytest.param({"text": "." * 60}, "did not fail", id="green"),
        pytest.param({"text": ""}, "no run of it", id="unknown"),
        pytest.param({"blockers": Blockers(tests=("t.py::a",))}, "blocks a release", id="blocker"),
        pytest.param({"blockers": Blockers(tests=("t.*",))}, "blocks a release", id="pattern"),
        pytest.param({"blockers": Blockers(tests=("t.py",))}, "blocks a release", id="file"),
        pytest.param(
            {"blockers": Blockers(tests=("t.py::a",)), "subject": "test/t.py"},
            "blocks a release",
            id="file-that-holds-a-blocker",
        ),
        pytest.param(
            {"blockers": Blockers(tests=("t.py::a",)), "force": True},
            "blocks a release",
            id="force",
        ),
    ],
)
def test_what_must_block_is_refused(changes, says):
    with pytest.raises(UsageError, match=says):
        admitted(**changes)


@pytest.mark.parametrize("text", ["." * 60 + "FFF", "." * 60, ""])
def test_what_is_forced_goes_in_and_this_is_recorded(text):
    assert json.loads(admitted(text, force=True).evidence)["forced"] is True


def test_force_on_a_plain_flake_is_no_exception():
    assert json.loads(admitted(force=True).evidence)["forced"] is False


def test_nothing_goes_in_twice_until_it_is_over():
    inside = opened(admitted())
    with pytest.raises(UsageError, match="in quarantine already"):
        admitted(present=inside)
    flakes = judge_all([recorded(FLAKY)], [])
    later = NOW + timedelta(days=15)
    row = admit(admission(), flakes, blockers=Blockers(), present=inside, now=later)
    assert row.outcome == "quarantined"


@pytest.mark.parametrize(
    ("text", "after_days", "outcome"),
    [
        pytest.param("." * 19, 1, "released", id="clean"),
        pytest.param("." * 18, 1, "kept", id="one-too-few"),
        pytest.param("F" + "." * 19, 1, "kept", id="failed-once-so-more-are-asked-for"),
        pytest.param("F" + "." * 26, 1, "released", id="failed-once-then-clean"),
        pytest.param("." * 18, 15, "expired", id="expired"),
        pytest.param("", 15, "expired", id="expired-unseen"),
        pytest.param("." * 19, 15, "released", id="clean-before-it-expired"),
        pytest.param("F" * 9, 1, "kept", id="still-failing"),
    ],
)
def test_a_quarantine_ends_by_passes_or_by_time(text, after_days, outcome):
    now = NOW + timedelta(days=after_days)
    (change,) = look(opened(admitted()), [recorded(text)] if text else [], now)
    assert change.outcome == outcome, change
    rows = change_rows([change], now)
    assert [row.outcome for row in rows] == ([] if outcome == "kept" else ["released"])
    assert all(row.blocking for row in rows)
    assert change.reason in change_lines([change])[0]
    if outcome == "expired":
        assert "it blocks again" in change.reason
        with pytest.raises(NotQualifiedError, match="t.py::a"):
            raise_for([change])
    else:
        raise_for([change])


def test_runs_before_the_quarantine_do_not_count():
    before = recorded("." * 50, since=NOW - timedelta(days=9))
    (change,) = look(opened(admitted()), [before], NOW)
    assert change.clean == 0


def test_a_class_in_quarantine_is_freed_by_the_passes_of_its_tests():
    row = admitted().model_copy(update={"subject": "test/t.py"})
    some = [recorded("." * 10, "t.py::a"), recorded("." * 9, "t.py::b"), recorded("F", "u.py::a")]
    (change,) = look(opened(row), some, NOW + timedelta(days=1))
    assert (change.outcome, change.clean) == ("released", 19)


def test_evidence_of_others_and_evidence_that_cannot_be_read_end_by_time_alone():
    row = admitted()
    for evidence, problem in (('{"owner": "bo"}', False), ("[1]", True), ("no json", True)):
        (inside,) = opened(row.model_copy(update={"evidence": evidence}))
        assert (inside.problem is not None) == problem
        (change,) = look([inside], [recorded("." * 500)], NOW)
        assert change.outcome == "kept"
        assert change.asked is None
        assert ("cannot be read" in change.reason) == problem


def test_only_what_is_inside_can_be_released():
    inside = opened(admitted())
    row = release("test/t.py::a", "repaired", actor="bo", present=inside, now=NOW)
    assert (row.outcome, row.blocking, row.actor) == ("released", True, "bo")
    with pytest.raises(UsageError, match="in quarantine: test/t.py::a"):
        release("test/t.py::b", "repaired", actor="bo", present=inside, now=NOW)


def test_the_export_has_what_is_in_force_and_jobs_apart():
    job = admitted().model_copy(update={"subject": "job/engine"})
    inside = opened(admitted()) + opened(job)
    told = json.loads(export_text(inside, NOW))
    assert [entry["nodeid"] for entry in told["entries"]] == ["t.py::a"]
    assert [entry["job_key"] for entry in told["jobs"]] == ["engine"]
    later = json.loads(export_text(inside, NOW + timedelta(days=15)))
    assert later["entries"] == later["jobs"] == []
    assert "EXPIRED" in quarantine_lines(inside, NOW + timedelta(days=15))[0]


@pytest.mark.parametrize(
    ("entry", "name", "inside"),
    [
        ("t.py::a", "t.py::a", True),
        ("t.py::a", "t.py::a[x-1]", True),
        ("t.py::K", "t.py::K::a", True),
        ("t.py", "t.py::a", True),
        ("t.py::a", "t.py::ab", False),
        ("t.py::a[x]", "t.py::a[x-1]", False),
    ],
)
def test_an_entry_covers_what_it_holds(entry, name, inside):
    assert covers(entry, name) is inside


def test_the_costliest_flake_stands_first_and_breaks_before_all():
    jobs = [
        recorded(FLAKY, job_key="cheap", kind="job", attempt_min=1.0),
        recorded(FLAKY, job_key="dear", kind="job", attempt_min=30.0, blocked_min=40.0),
        recorded("." * 60 + "FFF", job_key="bad", kind="job"),
    ]
    tests = [recorded(FLAKY, "t.py::a", "dear")]
    found = judge_all(tests, jobs)
    assert [f.subject for f in found] == ["job/bad", "job/dear", "test/t.py::a", "job/cheap"]
    assert [f.minutes_lost for f in found] == [None, 640.0, 640.0, 20.0]
    assert "cost unknown" in flake_lines(found, everything=False)[0]
    assert found[0].since == "c60"
    assert found[0].last_good == "c59"
    json.dumps([flake.plain() for flake in found])


def test_minutes_lost_are_retries_and_waiting():
    assert minutes_lost(0.05 * 200, 12.0, 30.0) == pytest.approx(150.0)
    assert minutes_lost(3, None, None) == 0


def test_what_is_reported_only_when_it_fails_counts_the_passes_of_its_job():
    test = recorded("FFFFFFF", since=NOW)
    job = recorded("....F" * 7, kind="job", since=NOW)
    assert judge_all([test], [])[0].judgement.state == "broken"
    spread = recorded("F" * 7, history=History(
        failed=(True,) * 7,
        commits=tuple(f"c{n}" for n in range(4, 35, 5)),
        positions=tuple(range(5, 36, 5)),
    ))  # fmt: skip
    merged = with_job_passes(spread, job)
    assert (sum(merged.history.failed), len(merged.history.failed)) == (7, 31)
    assert {f.judgement.state for f in judge_all([spread], [job])} == {"flaky"}


def test_nothing_to_show_is_said():
    assert flake_lines([], everything=False) == ["no test or job is broken or flaky"]
    assert quarantine_lines([], NOW) == change_lines([]) == ["nothing is in quarantine"]


OWNERS = """
# all
*               @all
/tests/         @tests
tests/v1/**     @v1
*.md            @docs
/tests/free.py
csrc/*          @kernels
"""


@pytest.mark.parametrize(
    ("path", "owners"),
    [
        ("setup.py", ("@all",)),
        ("tests/a/test_b.py", ("@tests",)),
        ("tests/v1/a/b.py", ("@v1",)),
        ("tests/v1/README.md", ("@docs",)),
        ("tests/free.py", ()),
        ("csrc/a.cu", ("@kernels",)),
        ("csrc/deep/a.cu", ("@all",)),
    ],
)
def test_the_last_pattern_that_matches_names_the_owners(path, owners):
    assert owners_of(path, read_codeowners(OWNERS)) == owners


def flaky(*nodeids, **changes):
    return judge_all([recorded(FLAKY, nodeid, **changes) for nodeid in nodeids], [])


def test_one_cause_is_one_proposal():
    found = flaky("a.py::a", "b.py::b", "c.py::c", *(f"d.py::t{n}" for n in range(5)))
    signatures = {"test/a.py::a": "Address in use", "test/b.py::b": "Address in use"}
    plan = plan_proposals(found, signatures=signatures)
    assert sorted(len(p.subjects) for p in plan.proposals) == [1, 2, 5]
    both = next(p for p in plan.proposals if len(p.subjects) == 2)
    assert both.title == "2 flaky tests: Address in use"
    assert marker(both.key) in both.body
    assert "gauntlet quarantine add" in both.body


def test_what_is_known_is_not_proposed_again():
    found = flaky("a.py::a", "b.py::b", "c.py::c")
    first = plan_proposals(found, signatures={}).proposals
    again = plan_proposals(
        found, signatures={}, open_keys={first[0].key}, covered={first[1].subjects[0]}
    )
    assert [p.key for p in again.proposals] == [first[2].key]
    assert sorted(again.held_back) == sorted(p.key for p in first[:2])


def test_a_day_has_a_cap():
    found = flaky(*(f"f{n}.py::a" for n in range(9)))
    plan = plan_proposals(found, signatures={}, opened_today=3, cap=5)
    assert (len(plan.proposals), len(plan.held_back)) == (2, 7)
    assert plan_proposals(found, signatures={}, opened_today=9, cap=5).proposals == ()


def test_breaks_and_jobs_of_flaky_tests_are_not_proposed():
    tests = [recorded(FLAKY, "a.py::a", "j"), recorded("." * 60 + "FFF", "b.py::b", "j")]
    jobs = [recorded(FLAKY, job_key="j", kind="job"), recorded(FLAKY, job_key="k", kind="job")]
    plan = plan_proposals(judge_all(tests, jobs), signatures={})
    assert sorted(p.subjects for p in plan.proposals) == [("job/k",), ("test/a.py::a",)]
