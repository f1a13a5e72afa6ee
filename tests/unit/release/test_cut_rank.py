"""Health of builds: what weighs how much, and what is never proposed."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from releasing import at

from gauntlet.core.errors import ConfigError
from gauntlet.core.yaml_file import parse_yaml, validate_model
from gauntlet.release.cut.facts import Loss, open_losses, with_losses
from gauntlet.release.cut.layout import plain_ranking, ranking_lines
from gauntlet.release.cut.rank import Attempt, Build, Job, Verdict, rank
from gauntlet.release.cut.rules import HealthRules

NOW = at("2026-11-30 12:00")
FRESH = (
    Verdict(area="performance", subject="load/x", outcome="same"),
    Verdict(area="accuracy", subject="eval/x", outcome="same"),
)


def job(key, *states, failure="", soft=False, tests=()):
    attempts = tuple(
        Attempt(state=s, failure_class=failure if s != "passed" else "", soft_failed=soft)
        for s in states or ("passed",)
    )
    return Job(key=key, attempts=attempts, failed_tests=tests)


def build(number, *jobs, hours=1.0, **changes):
    fields = {
        "number": number,
        "sha": f"{number:040x}",
        "state": "passed",
        "created_at": NOW - timedelta(hours=hours),
        "finished_at": NOW - timedelta(minutes=5),
        "position": 100,
        "jobs": (*jobs, *(job(f"filler-{n}") for n in range(10 - len(jobs)))),
        "verdicts": FRESH,
    }
    return Build(**{**fields, **changes})


def ranked(*builds, quarantined=(), newest=100, **rules):
    return rank(
        builds,
        HealthRules(points_a_day=0, **rules),
        quarantined=frozenset(quarantined),
        newest_position=newest,
        now=NOW,
    )


def points(*jobs, **changes):
    """Points of one build; None where it is never proposed."""
    found = ranked(build(1, *jobs), most_points=1000, **changes)
    return found.best.points if found.best else None


@pytest.mark.parametrize(
    ("trouble", "expected"),
    [
        pytest.param(job("a"), 0, id="passed"),
        pytest.param(job("a", "failed", "passed", failure="infra_agent"), 0.5, id="retried"),
        pytest.param(job("a", "failed", failure="infra_machine"), 2, id="machine"),
        pytest.param(job("a", "failed", failure="flaky"), 1, id="known flake"),
        pytest.param(job("a", "failed", failure="test_regression"), 25, id="regression"),
        pytest.param(job("a", "failed", failure="build_regression"), None, id="does not build"),
        pytest.param(job("a", "failed", failure="accuracy_regression"), None, id="accuracy"),
        pytest.param(job("a", "failed"), 20, id="nobody knows"),
        pytest.param(job("a", "failed", failure="gremlins"), 20, id="a class of tomorrow"),
        pytest.param(job("a", "timed_out"), 8, id="timed out"),
        pytest.param(job("a", "failed", failure="test_regression", soft=True), 0.5, id="soft"),
        pytest.param(job("a", "blocked"), 5, id="blocked"),
        pytest.param(job("a", "running"), 5, id="never ended"),
    ],
)
def test_failures_weigh_by_their_class(trouble, expected):
    assert points(trouble) == expected


@pytest.mark.parametrize(
    ("subject", "tests", "expected"),
    [
        pytest.param("job/a", (), 0.5, id="the job"),
        pytest.param("test/t.py::x", ("t.py::x",), 0.5, id="the only test that failed"),
        pytest.param("test/t.py::C", ("t.py::C::x[a::b]",), 0.5, id="its class"),
        pytest.param("test/t.py::x", ("t.py::x", "t.py::y"), 25, id="not all tests"),
        pytest.param("test/t.py::x", (), 25, id="tests not known"),
    ],
)
def test_what_is_in_quarantine_weighs_little(subject, tests, expected):
    failed = job("a", "failed", failure="test_regression", tests=tests)
    assert points(failed, quarantined=[subject]) == expected


@pytest.mark.parametrize(
    ("jobs", "words"),
    [
        pytest.param([], "no job is lane-*: not run", id="not there"),
        pytest.param([job("lane-h100", "blocked")], "did not pass: lane-h100", id="blocked"),
        pytest.param(
            [job("lane-a"), job("lane-b", "failed", failure="flaky")], "lane-b", id="one of two"
        ),
    ],
)
def test_a_build_without_a_required_lane_is_never_proposed(jobs, words):
    found = ranked(build(1, *jobs), required=("lane-*",))
    assert found.best is None
    assert words in found.refused[0].never[0].reason


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param({"state": "running", "finished_at": None}, "not ended: running", id="runs"),
        pytest.param({"state": "canceled"}, "not ended: canceled", id="canceled"),
        pytest.param({"created_at": NOW + timedelta(hours=1)}, "check the clocks", id="future"),
        pytest.param({"finished_at": NOW + timedelta(hours=1)}, "check the clocks", id="its end"),
        pytest.param({"position": None}, "ingest git", id="off main"),
        pytest.param({"jobs": (job("a"),)}, "not full: 1 of 10 jobs", id="not full"),
    ],
)
def test_what_cannot_be_weighed_is_said(changes, words):
    found = ranked(build(1), build(2, **changes))
    assert [health.build.number for health in found.candidates] == [1]
    assert words in found.unranked[0][1]


def test_the_newest_build_of_a_commit_counts():
    old = build(1, job("a", "failed"), hours=5, sha="c" * 40)
    found = ranked(old, build(2, hours=1, sha="c" * 40))
    assert [health.build.number for health in found.candidates] == [2]
    assert found.unranked[0][1] == "build 2 of the same commit is newer"


def test_verdicts_weigh_and_unmeasured_is_not_the_same_as_good():
    slow = Verdict(area="performance", subject="load/tpot", outcome="worse")
    wrong = Verdict(area="accuracy", subject="eval/gsm8k", outcome="worse")
    unsure = Verdict(area="accuracy", subject="eval/x", outcome="inconclusive")
    found = ranked(
        build(1),
        build(2, verdicts=(slow, FRESH[1])),
        build(3, verdicts=(wrong, FRESH[0])),
        build(4, verdicts=()),
        build(5, verdicts=(unsure, FRESH[0])),
    )
    assert [h.build.number for h in found.candidates] == [1, 5, 4, 2]
    assert [h.points for h in found.candidates] == [0, 1, 6, 25]
    assert [h.build.number for h in found.refused] == [3]


def test_too_many_points_are_not_good_enough():
    bad = [job(f"j{n}", "failed", failure="test_regression") for n in range(3)]
    found = ranked(build(1, *bad), most_points=60)
    assert (found.best, found.refused[0].points) == (None, 75)
    text = "\n".join(ranking_lines(found))
    assert "no build is good enough" in text
    assert "3 jobs failed: test_regression (j0, j1, j2)" in text
    assert plain_ranking(found)["refused"][0]["points"] == 75


def test_age_and_distance_count_and_the_newer_commit_wins_a_tie():
    found = rank(
        [build(1, hours=48, position=50), build(2, position=90), build(3, position=91)],
        HealthRules(points_a_hundred_commits=0),
        quarantined=frozenset(),
        newest_position=100,
        now=NOW,
    )
    assert [health.build.number for health in found.candidates] == [3, 2, 1]
    assert found.candidates[2].points == 2
    assert found.candidates[0].findings[-1].reason == "9 commits behind main"


@given(st.permutations([1, 2, 3, 4]), st.sampled_from(["flaky", "unknown", "infra_agent"]))
def test_the_order_does_not_depend_on_the_order_of_rows(order, failure):
    builds = {
        1: build(1, job("a", "failed", failure=failure)),
        2: build(2, hours=20),
        3: build(3, job("a", "failed", "passed", failure=failure)),
        4: build(4, job("a", "failed", failure="test_regression")),
    }
    assert ranked(*(builds[n] for n in order)) == ranked(*builds.values())


def loss_row(outcome="regression", night="2026-11-20", until="", **changes):
    import json

    said = {"series_id": "s", "metric": "tpot_ms", "statistic": "p50", "recipe": "r",
            "point": "c=1", "night": night, "blocking": True,
            "commits": {"until": until} if until else None}  # fmt: skip
    return {"subject": "history/s/rise/x", "outcome": outcome, "reason": "up 9 %",
            "evidence": json.dumps(said), **changes}  # fmt: skip


def test_a_loss_of_a_night_holds_until_the_series_says_otherwise():
    (loss,) = open_losses([loss_row("recovery"), loss_row(until="abc")])
    assert (loss.area, loss.until, loss.subject) == ("performance", "abc", "r c=1 tpot_ms")
    assert open_losses([loss_row(), loss_row("recovery")]) == []
    assert open_losses([loss_row("provisional")]) == []
    assert open_losses([loss_row(subject="history/s/m/x/score/abc")])[0].area == "accuracy"


def test_builds_from_the_commit_of_a_loss_on_have_it():
    night = at("2026-11-20 00:00").date()
    loss = Loss(area="performance", subject="s", reason="r", night=night, until="x", position=60)
    assert with_losses(build(1, position=59), [loss]).verdicts == FRESH
    assert with_losses(build(1, position=60), [loss]).verdicts[-1].outcome == "worse"
    unplaced = Loss(area="accuracy", subject="s", reason="r", night=night, until="")
    assert with_losses(build(1), [unplaced]).verdicts[-1].area == "accuracy"
    assert with_losses(build(1, hours=24 * 30), [unplaced]).verdicts == FRESH


def test_weights_are_data_and_mistakes_in_them_are_named():
    rules = HealthRules.model_validate({"failures": {"flaky": "never"}})
    assert (rules.failure("flaky"), rules.failure("timeout")) == ("never", 8)
    with pytest.raises(ConfigError, match="flakey"):
        validate_model(parse_yaml("failures: {flakey: 1}", file="p.yaml"), HealthRules)
