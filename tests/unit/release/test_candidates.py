"""Candidates of a real repository: what the branch may have, and tags that stay."""

import threading
from datetime import timedelta

import pytest
from releasing import BRANCH, V120, Engine, Killed, applied, cut, own_commit, soon

from gauntlet.core.errors import (
    ExternalServiceError,
    GauntletError,
    InfrastructureError,
    NotQualifiedError,
)
from gauntlet.release.picks import candidate as tagging
from gauntlet.release.picks.candidate import perform_candidate, plan_candidate
from gauntlet.release.picks.check import check_branch
from gauntlet.release.picks.rules import AllowRule

BUMP = AllowRule(paths=("setup.py",), subject=r"\[Release\] Version .*")


@pytest.fixture
def engine(tmp_path):
    found = Engine(tmp_path)
    cut(found)
    return found


def planned(engine, by="Ann", allow=(BUMP,), now=None):
    state = engine.state_folder.load()
    return plan_candidate(V120, engine.where, state, allow, by=by, now=now or soon())


def tagged(engine, by="Ann", **changes):
    plan = planned(engine, by, **changes)
    return perform_candidate(plan, engine.where, engine.state_folder, engine.office())


def findings(engine, allow=(BUMP,)):
    head = engine.at_remote(BRANCH)
    engine.git("fetch", "--quiet", "origin")
    return check_branch(
        engine.folder, cut=engine.cut_at, head=head, main=engine.git("rev-parse", "main"),
        allow=allow,
    )  # fmt: skip


def pick_by_hand(engine, source, line, text, files=None):
    """Commit on the branch what says that it was picked."""
    engine.git("checkout", "--quiet", "-B", "work", engine.at_remote(BRANCH))
    body = f"(cherry picked from commit {source})"
    if files:
        engine.commit("By hand", files, body=body)
    else:
        engine.edit("By hand", line, text, body=body)
    engine.git("push", "--quiet", "origin", f"work:{BRANCH}")
    engine.git("checkout", "--quiet", "main")


def test_candidates_are_numbered_and_hold_the_picks_since_the_one_before(engine):
    assert tagged(engine)
    fix = engine.edit("Fix (#8)", 3, "fixed")
    applied(engine, fix)
    assert tagged(engine)
    state = engine.state_folder.load()
    assert [c.name for c in state.candidates] == ["v1.2.0rc1", "v1.2.0rc2"]
    assert state.candidates[0].picks == ()
    assert [pick.source for pick in state.candidates[1].picks] == [fix]
    assert state.picks == ()
    assert engine.at_remote("refs/tags/v1.2.0rc2") == state.candidates[1].commit
    assert engine.git("cat-file", "-t", "v1.2.0rc2") == "tag"
    assert state.told == ("cut", "v1.2.0rc1", "v1.2.0rc2")
    assert engine.chat.texts[-1].startswith("v1.2.0rc2 is tagged at ")
    assert [row[:2] for row in engine.recorded if row[1] == "candidate"] == [
        ("v1.2.0rc1", "candidate"), ("v1.2.0rc2", "candidate")
    ]  # fmt: skip


def test_a_head_that_has_its_candidate_keeps_it(engine):
    tagged(engine)
    plan = planned(engine)
    assert plan.known
    assert plan.candidate.name == "v1.2.0rc1"
    assert not tagged(engine)
    assert len(engine.state_folder.load().candidates) == 1
    assert len(engine.chat.texts) == 2


def test_c63_a_commit_without_counterpart_on_main_stops_the_candidate(engine):
    own = own_commit(engine, "Quick fix", 5, "quick")
    (finding,) = findings(engine)
    assert (finding.check, finding.level) == ("branch-not-on-main", "error")
    assert finding.subject == f"{own[:10]} Quick fix"
    with pytest.raises(NotQualifiedError, match="main has nothing like it; it changes engine.py"):
        tagged(engine)
    assert engine.at_remote("refs/tags/v1.2.0rc1") == ""


@pytest.mark.parametrize(
    ("title", "name", "allowed"),
    [
        pytest.param("[Release] Version 1.2", "setup.py", True, id="as the rule says"),
        pytest.param("[Release] Version 1.2", "engine.py", False, id="another file"),
        pytest.param("Version 1.2", "setup.py", False, id="another subject"),
    ],
)
def test_c63_the_allow_list_is_of_paths_and_subjects(engine, title, name, allowed):
    own_commit(engine, title, 1, "version = '1.2'", name)
    assert (not findings(engine)) is allowed
    assert findings(engine, allow=())


def test_a_pick_with_the_same_patch_is_fine_with_and_without_its_trailer(engine):
    fix = engine.edit("Fix (#8)", 3, "fixed")
    twin = engine.edit("Twin (#9)", 30, "twin")
    applied(engine, fix)
    own_commit(engine, "Twin, by hand", 30, "twin")
    assert findings(engine) == ()
    tagged(engine)
    assert [p.source for p in engine.state_folder.load().candidates[0].picks] == [fix, twin]


def test_a_pick_that_was_resolved_by_hand_is_listed_as_adapted(engine):
    fix = engine.edit("Fix (#8)", 3, "fixed")
    engine.push()
    pick_by_hand(engine, fix, 3, "fixed, for the branch")
    (finding,) = findings(engine)
    assert (finding.check, finding.level) == ("branch-adapted", "warning")
    assert tagged(engine)


def test_a_pick_that_shares_no_file_with_its_source_is_none(engine):
    fix = engine.edit("Fix (#8)", 3, "fixed")
    pick_by_hand(engine, fix, 0, "", {"kernels.cu": "smuggled\n"})
    (finding,) = findings(engine)
    assert (finding.level, "shares no file" in finding.message) == ("error", True)


def test_a_trailer_that_names_what_main_does_not_have_is_not_believed(engine):
    engine.git("checkout", "--quiet", "-b", "side")
    aside = engine.edit("Aside", 3, "aside")
    engine.git("checkout", "--quiet", "main")
    pick_by_hand(engine, aside, 3, "aside")
    (finding,) = findings(engine)
    assert "which main does not have" in finding.message


def test_a_merge_into_the_branch_is_refused_however_it_is_called(engine):
    engine.edit("Newer", 3, "newer")
    engine.git("checkout", "--quiet", "-B", "work", engine.at_remote(BRANCH))
    engine.git("merge", "--quiet", "--no-ff", "-m", "[Release] Version x", "main")
    engine.git("push", "--quiet", "origin", f"work:{BRANCH}")
    engine.git("checkout", "--quiet", "main")
    (finding,) = findings(engine, allow=(AllowRule(paths=("*",), subject=".*"),))
    assert finding.check == "branch-merge"


def test_a_rewritten_branch_is_found(engine):
    engine.git("push", "--quiet", "--force", "origin", f"{engine.cut_at}^:{BRANCH}")
    assert [finding.check for finding in findings(engine)] == ["branch-rewritten"]


def test_a_tag_that_moved_is_named_with_both_commits(engine):
    tagged(engine)
    was = engine.cut_at
    now = engine.git("rev-parse", f"{was}^")
    engine.git("tag", "-f", "v1.2.0rc1", now)
    with pytest.raises(NotQualifiedError, match=f"v1.2.0rc1 is at {now} in .* at {was} at origin"):
        planned(engine)
    engine.git("push", "--quiet", "--force", "origin", "v1.2.0rc1")
    with pytest.raises(NotQualifiedError, match=f"tagged at {was} and is at {now} there"):
        planned(engine)
    engine.git("push", "--quiet", "origin", ":refs/tags/v1.2.0rc1")
    with pytest.raises(NotQualifiedError, match="is not there any more"):
        planned(engine)


def test_a_tag_off_the_branch_is_refused(engine):
    other = engine.edit("Newer", 3, "newer")
    engine.git("push", "--quiet", "origin", f"{other}:refs/tags/v1.2.0rc1")
    with pytest.raises(NotQualifiedError, match="which releases/v1.2.0 does not have"):
        planned(engine)


def test_names_that_only_look_like_candidates_are_left_alone(engine):
    for name in ("v1.2.0rc01", "v1.2.0rc1-test", "v1.2.0rc"):
        engine.git("push", "--quiet", "origin", f"HEAD:refs/tags/{name}")
    assert tagged(engine)
    assert engine.state_folder.load().candidates[0].name == "v1.2.0rc1"


def test_of_two_managers_at_once_one_tags_and_the_other_is_told(engine):
    engine.push()
    ben = engine.clone("ben")
    ben.state_folder.save(engine.state_folder.load())
    plans = {"Ann": planned(engine, "Ann"), "Ben": planned(ben, "Ben")}
    managers, lost, gate = {"Ann": engine, "Ben": ben}, {}, threading.Barrier(2)

    def go(name):
        world = managers[name]
        gate.wait()
        try:
            perform_candidate(plans[name], world.where, world.state_folder, world.office())
        except GauntletError as error:
            lost[name] = error

    threads = [threading.Thread(target=go, args=(name,)) for name in managers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    ((loser, error),) = lost.items()
    winner = "Ben" if loser == "Ann" else "Ann"
    assert isinstance(error, ExternalServiceError)
    assert f"somebody was quicker: {winner} tagged v1.2.0rc1" in error.message
    assert not tagged(managers[loser], loser)
    (taken,) = managers[loser].state_folder.load().candidates
    assert (taken.name, taken.by) == ("v1.2.0rc1", winner)
    assert [t for t in managers[loser].chat.texts if "rc1" in t] == []


@pytest.mark.parametrize("step", ["push_tag", "keep_picks", "save", "follow"])
def test_killed_anywhere_a_second_run_ends_alike(engine, monkeypatch, step):
    fix = engine.edit("Fix (#8)", 3, "fixed")
    applied(engine, fix)
    plan = planned(engine)

    def die(*_args, **_kwargs):
        raise Killed

    holders = {"save": type(engine.state_folder), "follow": type(engine.office())}
    with monkeypatch.context() as patched:
        patched.setattr(holders.get(step, tagging), step, die)
        with pytest.raises(Killed):
            perform_candidate(plan, engine.where, engine.state_folder, engine.office())
    tagged(engine)
    state = engine.state_folder.load()
    (made,) = state.candidates
    assert (made.name, made.commit) == ("v1.2.0rc1", plan.candidate.commit)
    assert (made.picks, made.by) == (plan.candidate.picks, "Ann")
    assert (state.picks, state.told) == ((), ("cut", "v1.2.0rc1"))
    if step != "push_tag":
        assert made == plan.candidate
    assert len([text for text in engine.chat.texts if "rc1" in text]) == 1


def test_a_clock_behind_the_last_candidate_is_refused(engine):
    tagged(engine, now=soon() + timedelta(hours=1))
    with pytest.raises(InfrastructureError, match="v1.2.0rc1 was tagged on"):
        planned(engine)
