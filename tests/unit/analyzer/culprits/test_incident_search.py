"""Given this history and this world, expect this of the search for the culprit."""

import json
import random
from contextlib import contextmanager
from dataclasses import replace

import pytest
from ci_scenarios import START, history, reported, run, runs, sha

from gauntlet.analyzer.acting.policy import Probes
from gauntlet.analyzer.culprits.incident import search_incident
from gauntlet.analyzer.culprits.incident_case import SearchSettings, plan_search
from gauntlet.analyzer.culprits.model import ProbeResult, Seen
from gauntlet.analyzer.culprits.prior import revert_history
from gauntlet.analyzer.culprits.restarts import restart_incident
from gauntlet.analyzer.culprits.run import Budget
from gauntlet.analyzer.culprits.seen import told_of
from gauntlet.analyzer.culprits.tonight import Night, chosen, lags_of, probe_incidents
from gauntlet.analyzer.incidents.detect import detect
from gauntlet.analyzer.incidents.incident import Recorded
from gauntlet.analyzer.incidents.recorded import continue_incidents
from gauntlet.analyzer.incidents.update import Picture
from gauntlet.core.errors import InfrastructureError

GAP = "PPPPPPPP......FFF"
"""Commit 8 passes, 15 fails, nothing ran between."""


class World:
    """A way to run that knows the truth: ``broken`` says what a run at a commit ends in."""

    name = "command"
    at_once = 1
    without = None
    refused = ""

    def __init__(self, broken, *, whole_job=False, same_queue=False):
        self.broken = broken
        self.whole_job = whole_job
        self.same_queue = same_queue
        self.ran = []

    def refusal(self, target, shas):
        return self.refused

    def words(self, target):
        return ("run", target.job)

    def reproduce(self, target, sha):
        return f"run {target.job} at {sha}"

    @contextmanager
    def open(self, target, state, journal):
        yield self

    def probe(self, shas):
        for each in shas:
            self.ran.append(int(each[:3]))
            outcome = self.broken(int(each[:3]), len(self.ran))
            if isinstance(outcome, BaseException):
                raise outcome
            yield ProbeResult(sha=each, outcome=outcome, seconds=60.0, evidence="log")


def since(culprit):
    return World(lambda number, _: "failed" if number >= culprit else "passed")


def look(*parts, **options):
    made = history(*parts, **options)
    (incident,) = detect(made)
    return incident, made


@pytest.fixture
def settings(tmp_path):
    return SearchSettings(folder=tmp_path / "searches")


@pytest.mark.parametrize("culprit", [9, 12, 15])
def test_the_culprit_is_found_from_what_ran_and_what_did_not(culprit, settings):
    incident, made = look(runs("a", GAP))
    found = search_incident(incident, made, since(culprit), settings)
    assert found.incident.culprit.commit.sha == sha(culprit)
    assert found.incident.culprit.verified
    assert found.incident.culprit.probability >= 0.9999
    assert found.incident.next_step.step == "none"
    assert f"its parent {sha(culprit - 1)[:10]} passed" in found.reasons[0]


def test_one_suspect_is_verified_by_runs_of_it_and_its_parent(settings):
    """And one of a commit that surely fails: does it still?"""
    incident, made = look(runs("a", "PPPPPPPPFFF"))
    assert incident.next_step.step == "verify"
    way = since(9)
    found = search_incident(incident, made, way, settings)
    assert found.incident.culprit.commit.sha == sha(9)
    assert set(way.ran) == {8, 9, 11}
    assert way.ran.count(11) == 1


def test_a_first_failure_that_was_a_flake_does_not_hide_the_later_culprit(settings):
    """Commit 12 failed by chance, nothing ran until 16, and 14 broke it."""
    incident, made = look(runs("a", "PPPPPPPPPPPF...FFF"))
    assert incident.first_bad == sha(12)
    found = search_incident(incident, made, since(14), settings).incident
    assert found.culprit.commit.sha == sha(14)
    assert any("failed by chance" in reason for reason in found.reasons)
    known = Recorded(
        incident_id=found.incident_id, outcome="open", reason="", at=START, evidence=found.plain()
    )
    ((same,), _) = continue_incidents(detect(made), [known], made)
    assert same.incident.culprit == found.culprit


def test_what_the_history_tells_is_not_run_again(settings):
    """A run of commit 12 that passed halves the range before anything is run."""
    told, made = look(runs("a", "PPPPPPPP...P..FFF"))
    way = since(14)
    found = search_incident(told, made, way, settings)
    assert found.incident.culprit.commit.sha == sha(14)
    assert min(way.ran) >= 12


def test_history_of_the_same_queue_shortens_the_proof_and_that_of_others_does_not(settings):
    incident, made = look(runs("a", "PPPPPPPQQDDD"))
    runs_of = []
    for same in (True, False):
        way = since(10)
        way.same_queue = same
        where = replace(settings, folder=settings.folder / str(same))
        assert search_incident(incident, made, way, where).incident.culprit.verified
        runs_of.append(len(way.ran))
    assert 4 <= runs_of[0] <= runs_of[1]


def test_a_good_commit_that_fails_today_is_the_environment(settings):
    incident, made = look(runs("a", GAP))
    found = search_incident(incident, made, World(lambda *_: "failed"), settings)
    assert found.incident.culprit is None
    assert found.incident.search.outcome == "environment"
    assert found.incident.next_step.step == "compare"
    assert f"{sha(8)[:10]} passed before and fails now: no commit changed that" in found.reasons


def test_a_bad_commit_that_passes_today_is_nobody(settings):
    incident, made = look(runs("a", GAP))
    found = search_incident(incident, made, World(lambda *_: "passed"), settings)
    assert found.incident.search.outcome == "nobody"
    assert (found.incident.next_step.step, found.incident.culprit) == ("none", None)


def test_commits_that_cannot_be_built_leave_a_range(settings):
    incident, made = look(runs("a", GAP))

    def world(number, _):
        return "unbuildable" if number in (11, 12) else "failed" if number >= 11 else "passed"

    found = search_incident(incident, made, World(world), settings)
    assert found.incident.search.outcome == "range"
    assert found.incident.culprit is None
    assert any(f"{sha(11)[:10]}..{sha(13)[:10]}" in reason for reason in found.reasons)


def test_a_budget_that_ends_names_suspects_and_goes_on_the_next_time(settings):
    incident, made = look(runs("a", GAP))
    way = since(12)
    short = replace(settings, budget=Budget(runs=3))
    found = search_incident(incident, made, way, short)
    assert (found.incident.search.outcome, found.runs) == ("exhausted", 3)
    assert found.incident.next_step.step == "bisect"
    assert any("not proven; likeliest" in reason for reason in found.reasons)
    again = search_incident(found.incident, made, way, settings)
    assert again.incident.culprit.commit.sha == sha(12)
    assert again.runs == len(way.ran) - 3


def test_an_allowance_bounds_the_runs_of_now_and_not_those_of_the_journal(settings):
    incident, made = look(runs("a", GAP))
    way = since(12)
    for _ in range(10):
        found = search_incident(incident, made, way, replace(settings, allowance=Budget(runs=2)))
        assert found.runs <= 2
        if found.incident.culprit:
            break
    assert found.incident.culprit.commit.sha == sha(12)


def test_a_search_that_was_killed_between_two_runs_at_once_loses_neither(settings):
    incident, made = look(runs("a", GAP))

    def world(number, count):
        if count == 4:
            return KeyboardInterrupt()
        return "failed" if number >= 12 else "passed"

    way = World(world)
    way.at_once = 3
    with pytest.raises(KeyboardInterrupt):
        search_incident(incident, made, way, settings)
    (journal,) = settings.folder.rglob("*.jsonl")
    kept = [json.loads(line) for line in journal.read_text().splitlines()[1:]]
    assert len(kept) == 3
    again = since(12)
    found = search_incident(incident, made, again, settings)
    assert found.incident.culprit.commit.sha == sha(12)
    assert found.incident.search.runs == len(again.ran) + 3


def test_a_range_that_moved_meanwhile_keeps_its_runs(settings):
    incident, made = look(runs("a", GAP))
    first = since(12)
    search_incident(incident, made, first, replace(settings, budget=Budget(runs=4)))
    later, newer = look(runs("a", "PPPPPPPPP.....FFF"))
    later = replace(later, incident_id=incident.incident_id)
    second = since(12)
    found = search_incident(later, newer, second, settings)
    assert found.incident.culprit.commit.sha == sha(12)
    assert found.incident.search.runs > len(second.ran), "some were in the journal"


def test_a_run_of_ours_that_came_back_through_the_warehouse_counts_once(settings):
    made = history(runs("a", GAP), [run("a", 12, "f", url="https://ci/12")])
    (incident,) = detect(made)
    told = told_of(incident, made, whole_job=False)
    assert told.seen()[sha(12)] == Seen(failed=1)
    assert told.seen(without="see https://ci/12 there")[sha(12)] == Seen()


@pytest.mark.parametrize(
    ("letters", "said"),
    [
        pytest.param("PPPPPPPE", "kind environment", id="environment"),
        pytest.param("FFFFFF", "no commit is known", id="no-suspects"),
    ],
)
def test_what_no_commit_can_have_done_is_not_searched(letters, said, settings):
    incident, made = look(runs("a", letters))
    way = since(1)
    found = search_incident(incident, made, way, settings)
    assert said in found.refused
    assert (way.ran, found.changed) == ([], False)


def test_nothing_is_searched_twice_on_the_same_evidence(settings):
    incident, made = look(runs("a", GAP))
    found = search_incident(incident, made, World(lambda *_: "passed"), settings)
    way = since(12)
    assert "searched already" in search_incident(found.incident, made, way, settings).refused
    narrower, newer = look(runs("a", "PPPPPPPPP.....FFF"))
    moved = replace(narrower, search=found.incident.search)
    assert not search_incident(moved, newer, way, settings).refused


def test_a_way_that_cannot_run_it_says_why(settings):
    incident, made = look(runs("a", GAP))
    way = since(12)
    way.refused = "no test is known"
    assert search_incident(incident, made, way, settings).refused == "no test is known"


def test_a_job_that_also_fails_for_another_reason_is_not_searched_as_a_whole(settings):
    rows = {"t::one": "PPPFFFFFFFFFFFF", "t::two": "PPPPPPPPPPPPFFF"}
    made = history(reported("a", rows))
    incident = next(each for each in detect(made) if each.tests == ("t::two",))
    found = search_incident(incident, made, World(lambda *_: "failed", whole_job=True), settings)
    assert "for another reason too" in found.refused
    alone = search_incident(incident, made, since(13), settings)
    assert alone.incident.culprit.commit.sha == sha(13)


def test_a_test_born_red_is_traced_to_the_commit_that_added_it(settings):
    rows = {"t::old": "PPPPPPPPP", "t::new": "-----FFFF"}
    made = history(reported("a", rows))
    (incident,) = detect(made)
    assert incident.last_good is None
    found = search_incident(incident, made, since(6), settings)
    assert found.incident.culprit.commit.sha == sha(6)
    assert any("does not have it counts" in reason for reason in found.reasons)


def test_a_break_that_shows_three_times_of_four_is_searched_with_its_own_rate(settings):
    letters = "P" * 20 + "FFXFFFXFFFFXFFFF"
    incident, made = look(runs("a", letters))
    told = told_of(incident, made, whole_job=False)
    ((rate, _),) = told.rates().broken
    assert 0.7 < rate < 0.95
    flake = told.rates().flake
    assert flake[1][0] == pytest.approx(2 * flake[0][0]), "over-estimated by two"


@pytest.mark.parametrize("seed", range(6))
def test_a_break_that_shows_now_and_then_accuses_nobody_else(seed, settings):
    incident, made = look(runs("a", "P" * 20 + "FFXFFFXFFFFXFFFF"))
    chance = random.Random(seed)

    def world(number, _):
        return "failed" if number >= 21 and chance.random() < 0.8 else "passed"

    found = search_incident(incident, made, World(world), settings)
    assert found.incident.culprit is None or found.incident.culprit.commit.sha == sha(21)


def test_the_prior_knows_reverts_paths_and_where_culprits_stood(settings):
    changed = {
        3: {"paths": ("engine/spec/a.py",)},
        4: {"reverts": sha(3), "paths": ("engine/spec/a.py",)},
        11: {"paths": ("engine/spec/b.py",)},
    }
    made = history(runs("a", GAP), changed=changed)
    (incident,) = detect(made)
    plan = plan_search(incident, made, since(9), replace(settings, lags=(0, 0, 1)))
    shares = {c.sha: one for c, one in zip(plan.case.commits, plan.prior, strict=True)}
    assert any("were taken back" in reason for reason in shares[sha(11)].reasons)
    assert shares[sha(11)].share > shares[sha(10)].share
    assert shares[sha(15)].share > shares[sha(9)].share
    assert set(revert_history(made.mainline.commits)) == {"engine/spec"}


def test_lags_come_from_proven_culprits_alone():
    def recorded(**evidence):
        return Recorded(incident_id="i", outcome="fixed", reason="", at=START, evidence=evidence)

    known = [
        recorded(suspects=["a", "b", "c"], culprit={"sha": "b", "verified": True}),
        recorded(suspects=["a"], culprit={"sha": "a", "verified": False}),
        recorded(suspects=["a"], culprit=None),
    ]
    assert lags_of(known) == (1,)


# Restarts.


@pytest.mark.parametrize(
    ("letters", "world", "outcome", "step"),
    [
        pytest.param("PPPPPPPPPPPPF", since(13), "confirmed", "verify", id="a-real-break"),
        pytest.param("PPPPPP......F", since(9), "confirmed", "bisect", id="a-break-in-a-gap"),
        pytest.param("PPPPPPPPPPPPF", since(99), "cleared", "none", id="chance"),
        pytest.param("PPPPPPPPPPPPF", since(1), "environment", "compare", id="both-fail"),
        pytest.param(
            "PPPPPPPPPPPPF",
            World(lambda number, n: "failed" if number == 13 and n < 3 else "passed"),
            "unclear",
            "none",
            id="now-and-then",
        ),
        pytest.param("PFPPFPFPPFPPF", since(13), "unclear", "none", id="it-always-was-flaky"),
        pytest.param("FFFFFF", since(1), "confirmed", "look-back", id="never-passed"),
    ],
)
def test_a_suspicion_is_confirmed_or_cleared_by_two_runs_of_each(
    letters, world, outcome, step, settings
):
    world.ran.clear()
    incident, made = look(runs("a", letters))
    assert incident.status == "suspected"
    found = restart_incident(incident, made, world, settings)
    assert (found.incident.search.outcome, found.incident.next_step.step) == (outcome, step)
    assert found.runs == len(world.ran) == (2 if incident.last_good is None else 4)
    assert found.incident.status == ("confirmed" if outcome == "confirmed" else "suspected")
    assert (
        "run again already"
        in restart_incident(
            replace(incident, search=found.incident.search), made, world, settings
        ).refused
    )


def test_machines_that_cannot_run_it_confirm_nothing(settings):
    incident, made = look(runs("a", "PPPPPPPPPPPPF"))
    found = restart_incident(incident, made, World(lambda *_: "infra"), settings)
    assert "nothing was learnt" in found.refused
    assert not found.changed


def test_what_a_search_told_holds_the_next_night_while_nothing_new_is_known(settings):
    incident, made = look(runs("a", "PPPPPPPPPPPPF"))
    found = restart_incident(incident, made, since(13), settings).incident
    known = Recorded(
        incident_id=found.incident_id, outcome="open", reason="", at=START, evidence=found.plain()
    )
    ((same,), _) = continue_incidents(detect(made), [known], made)
    assert (same.incident.status, same.incident.next_step.step) == ("confirmed", "verify")
    proven = search_incident(same.incident, made, since(13), settings).incident
    known = replace(known, evidence=proven.plain())
    ((same,), _) = continue_incidents(detect(made), [known], made)
    assert same.incident.culprit.verified
    assert same.incident.status == "confirmed"
    assert same.incident.search == proven.search


# The night.


def night(tmp_path, **probes):
    given = Probes(**{"via": "buildkite", **probes})
    return Night(probes=given, folder=tmp_path / "night", now=START)


def picture_of(made, recorded=()):
    continued, ended = continue_incidents(detect(made), recorded, made)
    return Picture(branch="main", at=START, open=tuple(continued), ended=tuple(ended), builds=1)


def three(**options):
    return history(
        runs("a", GAP),
        [replace(r, signature=f"other {r.signature}") for r in runs("b", "P" * 16 + "F")],
        [replace(r, signature="third " * 9) if r.outcome == "failed" else r
         for r in runs("c", "PPPPPPPPPP...FFFF")],
        **options,
    )  # fmt: skip


def test_confirmed_ones_come_first_and_each_has_its_own_answer(tmp_path):
    made = three()
    seen = picture_of(made)
    assert [each.incident.next_step.step for each in chosen(seen)][-1] == "restart"
    kept = []
    world = World(lambda number, _: "failed" if number >= 12 else "passed")
    found = probe_incidents(
        seen, made, world, night(tmp_path), lambda before, now: kept.append(now)
    )
    assert [each.incident.jobs for each in found][-1] == ("b",)
    assert len(kept) == 3
    assert {each.incident.search.outcome for each in found} == {"culprit", "environment"}


def test_a_search_that_fails_does_not_stop_the_others(tmp_path):
    made = three()
    seen = picture_of(made)
    first = chosen(seen)[0].incident.jobs[0]

    class Broken(World):
        def words(self, target):
            self.job = target.job
            return super().words(target)

        def probe(self, shas):
            if self.job == first:
                raise InfrastructureError("no agents")
            yield from super().probe(shas)

    way = Broken(lambda number, _: "failed" if number >= 12 else "passed")
    found = probe_incidents(seen, made, way, night(tmp_path))
    assert found[0].error == "no agents"
    assert found[0].reasons == ("no agents",)
    assert any(each.search and each.search.changed for each in found[1:])


def test_the_runs_of_a_night_are_bounded_and_the_next_night_goes_on(tmp_path, monkeypatch):
    made = history(runs("a", GAP))
    way = since(12)
    now = []
    monkeypatch.setattr("gauntlet.analyzer.culprits.journal.utc_now", lambda: now[-1])
    counts = []
    for day in range(6):
        now.append(START.replace(day=3 + day))
        tonight = replace(night(tmp_path, runs_per_night=3), now=now[-1])
        for _ in range(2):  # once more in the same night adds nothing
            found = probe_incidents(picture_of(made), made, way, tonight)
        counts.append(len(way.ran))
    assert counts[:2] == [3, 6]
    assert found[0].incident.culprit.commit.sha == sha(12)


def test_money_bounds_a_night_too(tmp_path):
    made = history(runs("a", GAP))
    way = since(12)
    limits = {"money_per_night": 2.0, "price_per_minute": 1.0}
    probe_incidents(picture_of(made), made, way, night(tmp_path, **limits))
    assert len(way.ran) == 2, "a run takes a minute"


@pytest.mark.parametrize("most", [0, 1])
def test_so_many_incidents_at_most(most, tmp_path):
    made = three()
    found = probe_incidents(picture_of(made), made, since(12), night(tmp_path, most_incidents=most))
    assert len(found) == most


def test_what_is_ignored_or_proven_is_not_searched(tmp_path):
    made = history(runs("a", GAP))
    (incident,) = detect(made)
    known = Recorded(
        incident_id=incident.incident_id,
        outcome="ignored",
        reason="",
        at=START,
        evidence=incident.plain(),
    )
    assert chosen(picture_of(made, [known])) == []
    assert probe_incidents(picture_of(made), made, None, night(tmp_path)) == []
