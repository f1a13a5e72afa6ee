"""Given this history, expect this culprit: driven without a machine."""

import random

import pytest
from culprit_worlds import case_of, drive, flaky

from gauntlet.analyzer.culprits.investigation import suspects
from gauntlet.analyzer.culprits.metric import Levels
from gauntlet.analyzer.culprits.rates import Rates
from gauntlet.core.errors import InfrastructureError


def named(investigation):
    return [found.place for found in investigation.conclusion.found]


@pytest.mark.parametrize("culprit", [1, 2, 9, 15, 16])
@pytest.mark.parametrize("at_once", [1, 4])
def test_a_steady_break_is_proven(culprit, at_once):
    told, ran = drive(case_of(16, at_once=at_once), flaky(lambda place: place >= culprit, seed=1))
    assert named(told) == [culprit]
    assert told.conclusion.found[0].proof == "verified"
    assert told.conclusion.found[0].probability >= 0.9999
    outcomes = [(sha, outcome) for stage, sha, outcome in ran]
    assert outcomes.count((f"{culprit:03}", "failed")) >= 2, "one failure accuses nobody"
    assert outcomes.count((f"{culprit - 1:03}", "passed")) >= 2


def test_both_ends_are_run_first():
    _, ran = drive(case_of(8), flaky(lambda place: place >= 3, seed=1))
    assert [(stage, sha) for stage, sha, _ in ran[:2]] == [("ends", "008"), ("ends", "000")]


@pytest.mark.parametrize("seed", range(12))
def test_flakes_do_not_mislead(seed):
    culprit = random.Random(seed).randint(1, 64)
    case = case_of(64, rates=Rates.around(0.2), at_once=2)
    told, _ = drive(case, flaky(lambda place: place >= culprit, seed=seed, flake=0.2))
    assert named(told) == [culprit]


@pytest.mark.parametrize("seed", range(6))
def test_a_failure_that_does_not_always_show(seed):
    culprit = random.Random(seed).randint(1, 32)
    case = case_of(32, rates=Rates.around(0.05, 0.8))
    told, _ = drive(case, flaky(lambda place: place >= culprit, seed=seed, flake=0.05, fails=0.8))
    assert named(told) == [culprit]


def test_a_bad_commit_that_passes_is_nobody():
    told, ran = drive(case_of(8), flaky(lambda place: False, seed=1))
    assert (told.conclusion.ending, named(told)) == ("nobody", [])
    assert len(ran) <= 5


def test_a_good_commit_that_fails_too_is_no_commit_of_the_range():
    told, _ = drive(case_of(8), flaky(lambda place: True, seed=1))
    assert (told.conclusion.ending, named(told)) == ("before", [])


def test_neighbours_that_both_touch_the_test_are_told_apart_by_a_run():
    """The prior points at the innocent one: the separating run comes before any name."""
    prior = (1.0, 1.0, 1.0, 40.0, 20.0, 1.0)
    told, ran = drive(case_of(6, prior=prior), flaky(lambda place: place >= 5, seed=1))
    assert named(told) == [5]
    assert ("004", "passed") in [(sha, outcome) for _, sha, outcome in ran]


def test_before_the_separating_run_both_are_suspects():
    case = case_of(6, prior=(1.0, 1.0, 1.0, 40.0, 40.0, 1.0))
    told, _ = drive(case, flaky(lambda place: place >= 5, seed=1), most=2)
    assert named(told) == []
    assert {place for place, _ in suspects(told)} >= {4, 5}


def test_commits_that_cannot_be_built_make_a_range():
    def outcome(sha):
        return "unbuildable" if sha in {"004", "005"} else "failed" if sha >= "005" else "passed"

    told, _ = drive(case_of(9), outcome)
    assert told.conclusion.ending == "range"
    assert (told.conclusion.first, told.conclusion.last) == (4, 6)


@pytest.mark.parametrize("sha", ["000", "008"])
def test_an_end_that_cannot_be_built_is_an_error_with_its_option(sha):
    option = "--good" if sha == "000" else "--bad"
    with pytest.raises(InfrastructureError, match=f"{option} {sha} cannot be built"):
        drive(case_of(8), lambda each: "unbuildable" if each == sha else "failed")


def test_a_machine_that_fails_now_and_then_costs_runs_and_nothing_else():
    chance = random.Random(6)

    def outcome(sha):
        if chance.random() < 0.3:
            return "infra"
        return "failed" if sha >= "011" else "passed"

    told, _ = drive(case_of(16), outcome)
    assert named(told) == [11]


def test_a_machine_that_always_fails_at_one_commit_makes_it_one_that_cannot_be_run():
    def outcome(sha):
        return "infra" if sha == "008" else "failed" if sha >= "011" else "passed"

    told, ran = drive(case_of(16), outcome)
    assert named(told) == [11]
    assert sum(sha == "008" for _, sha, _ in ran) <= 3


# Two culprits. ``without`` names a commit with another taken back "PLACE-TAKEN".


def take_back(commit, culprit):
    return f"{commit}-{culprit}"


def two_causes(first, second):
    def outcome(sha):
        place, *taken = map(int, sha.split("-"))
        broken = {cause for cause in (first, second) if place >= cause}
        return "failed" if broken - set(taken) else "passed"

    return outcome


@pytest.mark.parametrize(("first", "second"), [(3, 12), (7, 8), (1, 16), (9, 15)])
def test_two_independent_culprits(first, second):
    told, _ = drive(case_of(16, without=take_back), two_causes(first, second))
    assert named(told) == [first, second]
    assert [found.alone for found in told.conclusion.found] == [False, None]
    assert all(found.proof == "verified" for found in told.conclusion.found)


def test_a_lone_culprit_taken_back_repairs_the_bad_commit():
    told, ran = drive(case_of(16, without=take_back), two_causes(5, 99))
    assert named(told) == [5]
    assert told.conclusion.found[0].alone is True
    assert ran[-1][0] == "alone"


def test_a_revert_that_does_not_apply_leaves_it_open():
    told, _ = drive(case_of(16, without=lambda *_: None), two_causes(5, 99))
    assert told.conclusion.found[0].alone is None
    assert "does not apply" in told.conclusion.reasons[-1]


def test_what_cannot_be_undone_makes_nobody_else_guilty():
    """Taking the culprit back changes nothing: the next commit would look like a second one."""

    def outcome(sha):
        return "failed" if int(sha.partition("-")[0]) >= 5 else "passed"

    told, _ = drive(case_of(16, without=take_back), outcome)
    assert named(told) == [5]
    assert "taking back both does not repair" in told.conclusion.reasons[-1]


def repaired(first, repair, second):
    """Broken at first, repaired, broken again; taking back the first changes nothing later."""

    def outcome(sha):
        place, *taken = map(int, sha.split("-"))
        broken = {first} if first <= place < repair else {second} if place >= second else set()
        return "failed" if broken - set(taken) else "passed"

    return outcome


@pytest.mark.parametrize("at_once", [1, 3])
@pytest.mark.parametrize(
    ("first", "repair", "second"), [(2, 12, 20), (10, 14, 22), (4, 18, 24), (9, 11, 13)]
)
def test_a_repair_in_the_middle_does_not_hide_who_broke_it_today(first, repair, second, at_once):
    case = case_of(24, without=take_back, at_once=at_once)
    told, _ = drive(case, repaired(first, repair, second))
    assert second in named(told)
    assert set(named(told)) <= {first, second}


def test_a_revert_of_a_revert_is_the_culprit_itself():
    """Broken, reverted, brought back: the range begins after the revert."""
    told, _ = drive(case_of(24, without=take_back), repaired(3, 8, 17))
    assert 17 in named(told)


# Numbers.


@pytest.mark.parametrize("culprit", [4, 12])
def test_a_slowdown_is_found_and_judged(culprit):
    chance = random.Random(culprit)
    levels = Levels(before=2.302585, after=2.332144, sd=0.01)

    def value(sha):
        return (10.3 if int(sha) >= culprit else 10.0) * chance.gauss(1, 0.01)

    told, ran = drive(case_of(16, metric=True, levels=levels), value)
    assert named(told) == [culprit]
    proof = [sha for stage, sha, _ in ran if stage == "proof"][:4]
    assert proof == [f"{culprit - 1:03}", f"{culprit:03}", f"{culprit:03}", f"{culprit - 1:03}"]


def test_a_number_that_does_not_step_accuses_nobody():
    chance = random.Random(2)
    levels = Levels(before=2.302585, after=2.332144, sd=0.01)
    case = case_of(16, metric=True, levels=levels)
    told, _ = drive(case, lambda sha: 10.0 * chance.gauss(1, 0.01))
    assert (told.conclusion.ending, named(told)) == ("nobody", [])
