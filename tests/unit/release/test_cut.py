"""Cuts of a real repository: once, by one manager, and resumed after any end."""

import threading
from dataclasses import replace
from datetime import timedelta

import pytest
from releasing import V120, Engine, Killed, soon

from gauntlet.core.errors import (
    ExternalServiceError,
    GauntletError,
    InfrastructureError,
    NotQualifiedError,
    UsageError,
)
from gauntlet.release.cut import use
from gauntlet.release.cut.rank import Build, Health, Point, Ranking
from gauntlet.release.cut.use import CutRequest, look, perform, plan_cut
from gauntlet.release.deeds import Announcements
from gauntlet.release.version import ReleaseVersion

BRANCH = "refs/heads/releases/v1.2.0"
MARKER = "refs/gauntlet/cuts/v1.2.0"


@pytest.fixture
def engine(tmp_path):
    return Engine(tmp_path)


def ranking(*shas):
    now = soon()
    healths = [
        Health(
            build=Build(number=n, sha=sha, state="passed", created_at=now, finished_at=now,
                        position=n),
            findings=(Point(what="age", points=0.5, reason="0.5 days old"),),
        )
        for n, sha in enumerate(shas, start=1)
    ]  # fmt: skip
    return Ranking(candidates=tuple(healths), refused=(), unranked=())


def planned(engine, by="Ann", best=(), **changes):
    version = changes.pop("version", V120)
    request = CutRequest(**{"version": version, "by": by, "now": soon(), **changes})
    seen = look(engine.where, version)
    kept = engine.state_folder.find()
    return plan_cut(request, seen, engine.where, kept=kept, ranking=ranking(*best))


def cut(engine, by="Ann", **changes):
    plan = planned(engine, by, **changes)
    return perform(plan, engine.where, engine.state_folder, engine.office(), by)


def test_the_branch_is_made_at_exactly_the_best_commit(engine):
    engine.commit("Later (#4)", {"late.py": "x\n"})
    engine.push()
    assert cut(engine, best=[engine.cut_at])
    state = engine.state_folder.load()
    assert engine.at_remote(BRANCH) == state.cut.commit == state.cut.proposed == engine.cut_at
    assert (state.previous, state.branch) == ("v1.1.0", "releases/v1.2.0")
    assert state.cut.reason == "greenest build 1 with 0.5 points: 0.5 days old"
    ((tag, outcome, said),) = engine.recorded
    assert (tag, outcome, said["actor"], said["at"]) == ("v1.2.0", "cut", "Ann", state.cut.at)
    assert len(engine.chat.texts) == 1
    assert "v1.2.0 is cut: releases/v1.2.0 at " in engine.chat.texts[0]


def test_nothing_is_cut_where_no_build_is_good_enough(engine):
    with pytest.raises(NotQualifiedError, match="no build of main is good enough"):
        planned(engine)
    assert engine.at_remote(BRANCH) == ""


def test_another_commit_needs_a_reason(engine):
    other = engine.git("rev-parse", "HEAD^")
    with pytest.raises(UsageError, match="is not what the ranking proposes"):
        planned(engine, best=[engine.cut_at], commit=other)
    assert cut(engine, best=[engine.cut_at], commit=other, reason="models are not ready")
    kept = engine.state_folder.load().cut
    assert (kept.commit, kept.proposed, kept.reason) == (
        other, engine.cut_at, "models are not ready"
    )  # fmt: skip


def test_a_commit_that_a_forced_push_took_out_is_passed_over(engine):
    gone = engine.commit("Gone", {"x": "1"})
    engine.push()
    engine.git("reset", "--hard", "--quiet", "HEAD^")
    engine.push()
    plan = planned(engine, best=[gone, engine.cut_at])
    assert plan.state.cut.commit == engine.cut_at
    assert "not on main any more" in plan.notes[0]


@pytest.mark.parametrize("side", ["never merged", "merged from a side"])
def test_a_commit_that_main_never_was_at_is_refused(engine, side):
    engine.git("checkout", "--quiet", "-b", "side")
    commit = engine.commit("Aside", {"aside.py": "x\n"})
    engine.git("checkout", "--quiet", "main")
    if side == "merged from a side":
        engine.git("merge", "--quiet", "--no-ff", "-m", "Merge", "side")
        engine.push()
    with pytest.raises(UsageError, match="is not on main of origin"):
        planned(engine, commit=commit, reason="because")


def test_an_unpushed_commit_is_not_on_main(engine):
    commit = engine.commit("Local", {"x": "1"})
    with pytest.raises(UsageError, match="is not on main of origin, whose head is"):
        planned(engine, commit=commit, reason="because")


def test_a_clone_that_is_behind_fetches_what_it_needs(engine, tmp_path):
    other = engine.clone("behind")
    newer = engine.commit("Newer", {"n": "1"})
    engine.push()
    assert cut(other, commit=newer, reason="because")
    assert engine.at_remote(BRANCH) == newer


def test_a_shallow_clone_is_refused(engine, tmp_path):
    other = engine.clone("shallow")
    other.git("fetch", "--quiet", "--depth=1", f"file://{engine.remote}", "main")
    with pytest.raises(UsageError, match="shallow clone"):
        planned(other, best=[engine.cut_at])


def test_a_dirty_checkout_is_neither_used_nor_touched(engine):
    (engine.folder / "engine.py").write_text("half done")
    head = engine.git("rev-parse", "HEAD")
    assert cut(engine, best=[engine.cut_at])
    assert (engine.folder / "engine.py").read_text() == "half done"
    assert engine.git("rev-parse", "HEAD") == head
    assert engine.git("branch", "--list", "releases/*") == ""


@pytest.mark.parametrize("where", ["remote", "here"])
def test_a_version_that_has_its_tag_is_not_cut_again(engine, where):
    engine.git("tag", "v1.2.0")
    if where == "remote":
        engine.git("push", "--quiet", "origin", "v1.2.0")
    words = "released already" if where == "remote" else "and origin has none"
    with pytest.raises(UsageError, match=words):
        planned(engine, best=[engine.cut_at])


def test_a_candidate_cannot_be_cut(engine):
    with pytest.raises(UsageError, match=r"v1\.2\.0rc1 is a candidate"):
        planned(engine, version=ReleaseVersion.parse("v1.2.0rc1"), best=[engine.cut_at])


def test_the_release_before_is_one_that_exists(engine):
    with pytest.raises(UsageError, match=r"no tag v1\.0\.0") as caught:
        planned(engine, best=[engine.cut_at], previous="v1.0.0")
    assert "v1.1.0" in caught.value.hint


def test_a_clock_behind_the_commit_s_is_refused(engine):
    with pytest.raises(InfrastructureError, match="and here it is") as caught:
        planned(engine, best=[engine.cut_at], now=soon() - timedelta(days=1))
    assert caught.value.hint == "set this machine's clock"


def test_a_branch_that_nobody_recorded_is_taken_over_only_at_its_own_head(engine):
    other = engine.git("rev-parse", "HEAD^")
    engine.git("push", "--quiet", "origin", f"{other}:{BRANCH}")
    with pytest.raises(UsageError, match="has releases/v1.2.0 already, at"):
        planned(engine, best=[engine.cut_at])
    assert planned(engine, commit=other, reason="made by hand").kind == "adopt"
    assert cut(engine, commit=other, reason="made by hand")
    assert engine.at_remote(MARKER)
    assert engine.state_folder.load().cut.commit == other


def test_cut_again_by_another_manager_says_by_whom_and_changes_nothing(engine):
    cut(engine, best=[engine.cut_at])
    other = engine.clone("other")
    plan = planned(other, by="Ben")
    assert plan.kind == "known"
    assert plan.lines()[0].startswith("v1.2.0 was cut by Ann on ")
    assert not perform(plan, other.where, other.state_folder, other.office(), "Ben")
    assert other.state_folder.load().cut == engine.state_folder.load().cut
    assert other.chat.texts == []
    with pytest.raises(UsageError, match="was cut by Ann"):
        planned(other, by="Ben", commit=engine.git("rev-parse", "HEAD^"), reason="x")


def test_of_two_managers_at_once_one_wins_and_the_other_is_told(engine):
    managers = {"Ann": engine, "Ben": engine.clone("ben")}
    other = engine.git("rev-parse", "HEAD^")
    plans = {
        "Ann": planned(engine, "Ann", best=[engine.cut_at]),
        "Ben": planned(managers["Ben"], "Ben", commit=other, reason="mine"),
    }
    gate, lost = threading.Barrier(2), {}

    def go(name):
        world = managers[name]
        gate.wait()
        try:
            perform(plans[name], world.where, world.state_folder, world.office(), name)
        except GauntletError as error:
            lost[name] = error

    threads = [threading.Thread(target=go, args=(name,)) for name in managers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    ((loser, error),) = lost.items()
    winner = "Ben" if loser == "Ann" else "Ann"
    assert isinstance(error, UsageError)
    assert f"somebody was quicker: v1.2.0 was cut by {winner}" in error.message
    assert engine.at_remote(BRANCH) == plans[winner].state.cut.commit
    assert managers[loser].state_folder.find() is None


def kill_at(monkeypatch, step, engine):
    """Make an office and patches that end the process at a step."""

    def die(*_args, **_kwargs):
        raise Killed

    office = engine.office()
    if step == "before the push":
        monkeypatch.setattr(use, "push_cut", die)
    elif step == "after the push":
        monkeypatch.setattr("gauntlet.release.folder.ReleaseFolder.save", die)
    elif step == "before it is recorded":
        office = replace(office, record=die)
    else:
        office = replace(office, chat=die)
    return office


@pytest.mark.parametrize(
    "step",
    ["before the push", "after the push", "before it is recorded", "before it is told"],
)
def test_killed_anywhere_a_second_run_ends_alike(engine, monkeypatch, step):
    plan = planned(engine, best=[engine.cut_at])
    with monkeypatch.context() as patched:
        office = kill_at(patched, step, engine)
        with pytest.raises(Killed):
            perform(plan, engine.where, engine.state_folder, office, "Ann")
    cut(engine, best=[engine.cut_at])
    state = engine.state_folder.load()
    assert engine.at_remote(BRANCH) == state.cut.commit == engine.cut_at
    if step != "before the push":
        assert state.cut == plan.state.cut
    assert state.told == ("cut",)
    assert len(engine.chat.texts) == 1
    assert {row[2]["at"] for row in engine.recorded} == {state.cut.at}


def test_an_answer_that_was_lost_on_the_way_is_no_second_manager(engine, monkeypatch):
    plan = planned(engine, best=[engine.cut_at])
    push = use.push_cut

    def and_no_answer(*arguments, **options):
        push(*arguments, **options)
        raise ExternalServiceError("connection reset")

    monkeypatch.setattr(use, "push_cut", and_no_answer)
    assert perform(plan, engine.where, engine.state_folder, engine.office(), "Ann")
    assert engine.state_folder.load().told == ("cut",)


def test_a_chat_that_fails_is_said_and_asked_again_the_next_time(engine, caplog):
    engine.chat.broken = True
    assert cut(engine, best=[engine.cut_at])
    assert "v1.2.0 is not announced: the chat: 502" in caplog.text
    engine.chat.broken = False
    cut(engine)
    cut(engine)
    assert len(engine.chat.texts) == 1


def test_a_branch_that_is_gone_or_was_rewritten_is_not_gone_on_with(engine):
    cut(engine, best=[engine.cut_at])
    engine.git("push", "--quiet", "--force", "origin", f"HEAD^:{BRANCH}")
    with pytest.raises(NotQualifiedError, match="does not have that commit any more"):
        planned(engine)
    engine.git("push", "--quiet", "origin", f":{BRANCH}")
    with pytest.raises(NotQualifiedError, match=r"does not have releases/v1\.2\.0 any more"):
        planned(engine)
    engine.git("push", "--quiet", "origin", f":{MARKER}")
    with pytest.raises(NotQualifiedError, match="and origin does not know of it"):
        planned(engine, best=[engine.cut_at])


def test_a_damaged_record_at_the_remote_names_its_ref(engine):
    tree = engine.git("rev-parse", "HEAD^{tree}")
    commit = engine.git("commit-tree", tree, "-m", "Cut v1.2.0", "-m", '{"version": 3}')
    engine.git("push", "--quiet", "origin", f"{commit}:{MARKER}")
    with pytest.raises(NotQualifiedError, match=f"{MARKER} of origin: version"):
        planned(engine)


def test_a_remote_that_does_not_answer_is_an_external_fault(engine):
    engine.git("remote", "set-url", "origin", str(engine.folder / "nowhere"))
    with pytest.raises(ExternalServiceError, match="git ls-remote origin"):
        planned(engine)


def test_a_password_in_the_remote_s_address_is_not_kept(engine):
    engine.git("remote", "add", "other", "https://ann:secret@git.example.org/engine.git")
    assert replace(engine.where, name="other").address == "https://git.example.org/engine.git"


def test_templates_speak_of_known_things_only():
    with pytest.raises(ValueError, match="the template speaks of shoe_size"):
        Announcements(cut="{shoe_size}")
