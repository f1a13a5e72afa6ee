"""Picks on a real repository: order, what each becomes, and pushes that lose nothing."""

from datetime import timedelta

import pytest
from fake_codehost import FakeCodeHost
from hypothesis import given
from hypothesis import strategies as st
from releasing import BRANCH, Engine, Killed, applied, cut, own_commit, soon
from releasing import planned_picks as planned

from gauntlet.core.errors import (
    ExternalServiceError,
    InfrastructureError,
    NotQualifiedError,
    UsageError,
)
from gauntlet.release.picks import use
from gauntlet.release.picks.history import patches
from gauntlet.release.picks.rules import PickRules
from gauntlet.release.picks.sources import read_names, wanted_by_mark
from gauntlet.release.picks.use import perform_picks


@pytest.fixture
def engine(tmp_path):
    """An engine that was cut, and is on main."""
    found = Engine(tmp_path)
    cut(found)
    return found


def fates(plan):
    return {item.name: item.status for item in plan.items}


def subjects(engine, branch=BRANCH):
    head = engine.at_remote(branch)
    return engine.git("log", "--reverse", "--format=%s", f"{engine.cut_at}..{head}").splitlines()


def test_c61_commits_of_one_pull_request_are_picked_in_the_order_of_main(engine):
    shas = [engine.edit(f"Step {n} (#7)", 1, f"step {n}") for n in (1, 2, 3)]
    plan = applied(engine, *reversed(shas))
    assert [item.change.sha for item in plan.items] == shas
    assert subjects(engine) == ["Step 1 (#7)", "Step 2 (#7)", "Step 3 (#7)"]
    assert [pick.source for pick in engine.state_folder.load().picks] == shas
    assert [pick.pull_request for pick in engine.state_folder.load().picks] == [7, 7, 7]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_c61_the_host_s_order_does_not_matter_either(engine, order):
    host = FakeCodeHost()
    shas = [engine.edit(f"Fix {n} (#{n})", 1, f"fix {n}") for n in (11, 12, 13)]
    for place in order:
        host.add(11 + place, labels=("pick",), merge_commit=shas[place])
    plan, _ = planned(engine, host=host, label="pick")
    assert [item.change.sha for item in plan.items] == shas
    assert [item.status for item in plan.items] == ["picks"] * 3


def test_authors_stay_and_the_same_picks_are_the_same_commits_on_any_machine(engine):
    engine.git("config", "user.name", "Ben")
    fix = engine.edit("Fix (#8)", 3, "fixed")
    engine.push()
    other = engine.clone("other")
    other.git("config", "user.name", "Cem")
    other.state_folder.save(engine.state_folder.load())
    first, _ = planned(engine, fix)
    second, _ = planned(other, fix, by="Ben", now=soon() + timedelta(hours=1))
    assert first.head == second.head != first.standing.head
    author, committer, body = engine.git(
        "log", "-1", "--format=%an%x1f%cn%x1f%b", first.head
    ).split("\x1f")
    assert (author, committer) == ("Ann", "Gauntlet")
    assert f"(cherry picked from commit {fix})" in body
    assert engine.git("status", "--porcelain") == ""
    assert engine.git("branch", "--list", "releases/*") == ""


def test_what_is_there_already_is_said_and_not_picked_again(engine):
    fix = engine.edit("Fix (#8)", 3, "fixed")
    twin = engine.edit("Twin (#9)", 30, "twin")
    applied(engine, fix)
    # The same change, made on the branch without a trailer.
    engine.git("checkout", "--quiet", "-B", "work", engine.at_remote(BRANCH))
    engine.edit("Twin, by hand", 30, "twin")
    engine.git("push", "--quiet", "origin", f"work:{BRANCH}")
    engine.git("checkout", "--quiet", "main")
    plan, _ = planned(engine, fix, twin, engine.cut_at)
    assert set(fates(plan).values()) == {"present"}
    reasons = [item.reason for item in plan.items]
    assert any("picked already, as" in reason for reason in reasons)
    assert any("the branch has the same change, as" in reason for reason in reasons)
    assert any("was cut with it" in reason for reason in reasons)
    assert plan.head == plan.standing.head


def test_empty_changes_are_said(engine):
    nothing = engine.commit("Nothing (#8)")
    there = engine.edit("Undo and redo (#9)", 3, "line 3 again")
    back = engine.edit("Back (#10)", 3, "line 3")
    plan, _ = planned(engine, nothing, back)
    assert [item.status for item in plan.items] == ["empty", "empty"]
    assert plan.items[1].reason == "the branch has its effect already"
    assert there not in [item.change.sha for item in plan.items]


def test_what_is_not_on_main_is_left_out(engine):
    engine.git("checkout", "--quiet", "-b", "side")
    side = engine.edit("Aside", 3, "x")
    engine.git("checkout", "--quiet", "main")
    plan, _ = planned(engine, side, "deadbeef", "#77")
    assert fates(plan) == {side: "not-on-main", "deadbeef": "unknown", "#77": "unknown"}
    assert len(plan.left) == 3


def test_a_conflict_names_files_and_the_least_that_is_missing(engine):
    one = engine.edit("Rework (#8)", 10, "reworked")
    engine.edit("Unrelated in the same file (#9)", 35, "other")
    two = engine.edit("Fix the rework (#10)", 10, "reworked, right")
    fine = engine.edit("Fix elsewhere (#11)", 20, "fine")
    plan, _ = planned(engine, two, fine)
    item, other = plan.items
    assert (item.status, item.conflicts, item.depends_on) == ("conflict", ("engine.py",), (one,))
    assert "it depends on unpicked" in item.reason
    assert other.status == "picks"
    applied(engine, two, fine)
    assert subjects(engine) == ["Fix elsewhere (#11)"]
    both, _ = planned(engine, two, one)
    assert [(i.change.sha, i.status) for i in both.items] == [(one, "picks"), (two, "picks")]


def test_a_chain_of_missing_changes_is_found(engine):
    first = engine.edit("First", 10, "1")
    second = engine.edit("Second", 10, "2")
    third = engine.edit("Third", 10, "3")
    (item,) = planned(engine, third)[0].items
    assert item.depends_on == (first, second)


def test_a_conflict_with_the_branch_s_own_edit_is_for_a_person(engine):
    own_commit(engine, "Bump", 5, "release")
    fix = engine.edit("Fix (#8)", 5, "fixed")
    (item,) = planned(engine, fix)[0].items
    assert (item.status, item.depends_on) == ("conflict", ())
    assert "a person has to pick it" in item.reason


def test_no_memory_of_git_s_takes_a_side(engine):
    engine.git("config", "rerere.enabled", "true")
    engine.git("config", "rerere.autoUpdate", "true")
    own_commit(engine, "Bump", 5, "release")
    fix = engine.edit("Fix (#8)", 5, "fixed")
    engine.git("checkout", "--quiet", "-B", "work", engine.at_remote(BRANCH))
    with pytest.raises(AssertionError):
        engine.git("cherry-pick", fix)
    engine.git("checkout", "--ours", "engine.py")
    engine.git("add", "engine.py")
    engine.git("commit", "--quiet", "--allow-empty", "-m", "resolved")
    engine.git("checkout", "--quiet", "main")
    (item,) = planned(engine, fix)[0].items
    assert item.status == "conflict"


def test_touching_what_the_branch_alone_changed_is_noted(engine):
    own = own_commit(engine, "Bump", 5, "release")
    fix = engine.edit("Fix (#8)", 30, "fixed")
    (item,) = planned(engine, fix)[0].items
    assert item.status == "picks"
    assert item.notes == (f"touches engine.py, which {own[:10]} changed on the branch alone",)


def test_what_main_took_back_is_left_out_unless_the_revert_comes_too(engine):
    bad = engine.edit("Bad (#8)", 10, "bad")
    engine.edit("Between (#9)", 30, "between")
    engine.git("revert", "--no-edit", bad)
    revert = engine.git("rev-parse", "HEAD")
    (item,) = planned(engine, bad)[0].items
    assert item.status == "reverted"
    assert item.reason.startswith("main took it back: ")
    both, _ = planned(engine, revert, bad)
    assert [i.status for i in both.items] == ["picks", "picks"]
    engine.git("revert", "--no-edit", revert)
    assert fates(planned(engine, bad)[0]) == {bad: "picks"}


def test_a_merge_is_picked_as_what_it_brought(engine):
    engine.git("checkout", "--quiet", "-b", "feature")
    inner = engine.edit("Inner", 10, "inner")
    engine.edit("Inner too", 12, "inner too")
    engine.git("checkout", "--quiet", "main")
    engine.edit("Meanwhile", 30, "meanwhile")
    engine.git("merge", "--quiet", "--no-ff", "-m", "Merge pull request #9 from x", "-m",
               "The feature", "feature")  # fmt: skip
    merge = engine.git("rev-parse", "HEAD")
    plan, _ = planned(engine, "#9", inner)
    assert fates(plan) == {"#9": "picks", inner: "present"}
    (item,) = plan.fresh
    assert item.change.sha == merge
    assert item.change.title == "The feature"
    shown = engine.git("show", f"{plan.head}:engine.py")
    assert "inner too" in shown
    assert "meanwhile" not in shown


@pytest.mark.parametrize("state", ["open", "closed"])
def test_pull_requests_that_are_not_merged_say_so(engine, state):
    host = FakeCodeHost()
    host.add(8, state=state)
    (item, other) = planned(engine, "8", "#9", host=host)[0].items
    assert (item.name, item.status, item.reason) == (
        "#8",
        "not-merged",
        f"it is {state}, not merged",
    )
    assert other.reason == "there is no such pull request"


def test_a_label_needs_a_host(engine):
    with pytest.raises(UsageError, match="no code host"):
        wanted_by_mark(None, (), label="pick", milestone="")


def test_a_file_of_names_has_comments(tmp_path):
    path = tmp_path / "picks.txt"
    path.write_text("# for rc2\n#12 fixes the crash\n\nabc1234  and this\n#\n34\n")
    assert read_names(path) == ("#12", "abc1234", "34")


def test_somebody_else_s_push_is_neither_lost_nor_overwritten(engine):
    fix = engine.edit("Fix (#8)", 3, "fixed")
    plan, request = planned(engine, fix)
    own = own_commit(engine, "Theirs", 30, "theirs")
    with pytest.raises(ExternalServiceError, match="moved from .* to .*Theirs"):
        perform_picks(
            plan, request, engine.where, engine.state_folder, engine.office(), PickRules()
        )
    assert engine.at_remote(BRANCH) == own
    applied(engine, fix)
    assert subjects(engine) == ["Theirs", "Fix (#8)"]


@pytest.mark.parametrize("step", ["the push", "after the push", "before the state is kept"])
def test_killed_anywhere_a_second_run_ends_alike(engine, monkeypatch, step):
    fix = engine.edit("Fix (#8)", 3, "fixed")

    def die(*_args, **_kwargs):
        raise Killed

    names = {
        "the push": (use, "push_together"),
        "after the push": (use, "keep_picks"),
        "before the state is kept": (type(engine.state_folder), "save"),
    }
    expected = planned(engine, fix)[0].head
    with monkeypatch.context() as patched:
        patched.setattr(*names[step], die)
        with pytest.raises(Killed):
            applied(engine, fix)
    applied(engine, fix)
    assert engine.at_remote(BRANCH) == expected
    (pick,) = engine.state_folder.load().picks
    assert (pick.source, pick.applied, pick.title) == (fix, expected, "Fix (#8)")
    told = [row for row in engine.recorded if row[1] == "picked"]
    assert {row[2]["evidence"]["picks"][0]["source"] for row in told} == {fix}


def test_picked_twice_it_is_there_once(engine):
    fix = engine.edit("Fix (#8)", 3, "fixed")
    applied(engine, fix)
    head = engine.at_remote(BRANCH)
    plan = applied(engine, fix, "#8")
    assert fates(plan) == {fix: "present"}
    assert engine.at_remote(BRANCH) == head
    assert len([row for row in engine.recorded if row[1] == "picked"]) == 1


def late_by(engine):
    return soon() + timedelta(days=30)


def test_after_the_window_only_blockers_and_waivers_pass(engine):
    host = FakeCodeHost()
    fix = engine.edit("Fix (#8)", 3, "fixed")
    mend = engine.edit("Mend (#9)", 20, "mended")
    host.add(8, labels=("pick",), merge_commit=fix)
    host.add(9, labels=("pick", "release-blocker"), merge_commit=mend)
    now = late_by(engine)
    with pytest.raises(NotQualifiedError, match="the window closed on .*: #8 cannot be picked"):
        applied(engine, "#8", "#9", host=host, now=now)
    assert subjects(engine) == []
    applied(engine, mend, host=host, now=now)
    assert subjects(engine) == ["Mend (#9)"]
    applied(engine, fix, now=now, waive="the customer waits")
    assert subjects(engine) == ["Mend (#9)", "Fix (#8)"]
    (waiver,) = engine.waivers
    text = waiver.sections[0].payload.decode()
    assert '"run_id":"v1.2.0rc1"' in text
    assert '"subject":"gate/window"' in text
    assert '"actor":"Ann"' in text


def test_a_named_blocker_opens_the_window_for_all_of_it(engine):
    fix = engine.edit("Fix (#8)", 3, "fixed")
    applied(engine, fix, now=late_by(engine), blocker="incident 12")
    assert engine.recorded[-1][2]["evidence"]["blocker"] == "incident 12"
    assert engine.waivers == []


def test_a_clock_behind_the_cut_is_refused_with_both_times(engine):
    with pytest.raises(InfrastructureError, match="v1.2.0 was cut on .*, and here it is"):
        planned(engine, now=soon() - timedelta(days=1))


def test_a_rewritten_branch_is_not_picked_to(engine):
    engine.git("push", "--quiet", "--force", "origin", f"{engine.cut_at}^:{BRANCH}")
    with pytest.raises(NotQualifiedError, match="does not have .*, where it was cut"):
        planned(engine)


def test_patches_are_the_same_wherever_they_apply(engine):
    one = engine.edit("One", 20, "x")
    engine.git("checkout", "--quiet", "-b", "side", "HEAD^")
    engine.edit("Shift", 1, "line 0\nline 1")
    two = engine.edit("Two", 21, "x")
    white = engine.edit("White", 21, "x ")
    found = patches(engine.folder, [one, two, white])
    assert found[one] == found[two] != found[white]


@given(st.permutations(range(4)), st.sets(st.integers(0, 3), min_size=1))
def test_triage_orders_by_main_whatever_is_given(order, chosen):
    from gauntlet.core.clock import utc_now
    from gauntlet.release.picks.history import Change
    from gauntlet.release.picks.plan import Facts, Wanted, triage

    main = tuple(
        Change(sha=f"{n:040x}", parents=("p",), author="Ann", email="a", committed_at=utc_now(),
               subject=f"S{n}", body="")
        for n in range(4)
    )  # fmt: skip
    facts = Facts(
        main=main, before=frozenset(), branch=(), patches={change.sha: "p" for change in main}
    )
    wanted = [Wanted(name=main[n].sha[:8], sha=main[n].sha) for n in order if n in chosen]
    found = triage([*wanted, *wanted], facts)
    assert [item.change.subject for item in found] == [f"S{n}" for n in sorted(chosen)]
