"""Reverts in real repositories: what applies, what does not, and how far the bot goes."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from fake_codehost import FakeCodeHost
from git_repository import GitRepository

from gauntlet.analyzer.acting.guards import PastAct
from gauntlet.analyzer.acting.policy import Policy
from gauntlet.analyzer.culprits.model import Commit
from gauntlet.analyzer.incidents.history import Mainline
from gauntlet.analyzer.incidents.incident import Culprit, Incident, NextStep
from gauntlet.analyzer.reverts.branch import plan_revert
from gauntlet.analyzer.reverts.record import fate
from gauntlet.analyzer.reverts.use import Workshop, make_reverts
from gauntlet.core.errors import UsageError
from gauntlet.services.codehost.port import PullRequest
from gauntlet.services.switch import Permit

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
GO = Permit(given=True, reason="on")
LINES = "".join(f"line {number}\n" for number in range(30))


@pytest.fixture
def repository(tmp_path):
    made = GitRepository(tmp_path)
    made.commit("Begin", {"engine.py": LINES, "other.py": "x = 1\n"})
    return made


def changed(number, text):
    return LINES.replace(f"line {number}\n", text)


def plan(made, culprit, **changes):
    options = {"base": "main", "name": "revert/one", "message": f"Revert\n\nreverts {culprit}"}
    return plan_revert(made.folder, culprit, **{**options, **changes})


def test_a_clean_revert_is_a_branch_and_touches_nothing_else(repository):
    culprit = repository.commit("Break it", {"engine.py": changed(3, "broken\n")})
    head = repository.commit("Something else", {"other.py": "x = 2\n"})
    (repository.folder / "engine.py").write_text("work in progress\n")
    (repository.folder / "new.txt").write_text("mine\n")
    found = plan(repository, culprit)
    assert found.clean
    assert found.order == (culprit,)
    assert repository.git("show", "revert/one:engine.py") == LINES.strip()
    assert repository.git("show", "revert/one:other.py") == "x = 2"
    assert repository.git("rev-parse", "revert/one^") == head
    assert f"reverts {culprit}" in repository.git("log", "-1", "--format=%B", "revert/one")
    assert repository.git("status", "--short") == "M engine.py\n?? new.txt"
    assert repository.git("rev-parse", "--abbrev-ref", "HEAD") == "main"
    assert len(repository.git("worktree", "list").splitlines()) == 1


def test_the_same_revert_again_changes_nothing(repository):
    culprit = repository.commit("Break it", {"engine.py": changed(3, "broken\n")})
    plan(repository, culprit)
    before = repository.git("rev-parse", "revert/one")
    assert plan(repository, culprit).clean
    assert repository.git("rev-parse", "revert/one") == before


def test_a_merge_is_reverted_against_its_first_parent(repository):
    repository.git("switch", "--quiet", "-c", "side")
    repository.commit("Side work", {"engine.py": changed(3, "side\n")})
    repository.git("switch", "--quiet", "main")
    repository.git("merge", "--quiet", "--no-ff", "-m", "Merge side", "side")
    culprit = repository.git("rev-parse", "HEAD")
    assert plan(repository, culprit).clean
    assert repository.git("show", "revert/one:engine.py") == LINES.strip()


def test_what_was_built_upon_it_has_to_go_first_in_order(repository):
    culprit = repository.commit("Break it", {"engine.py": changed(3, "first\n")})
    repository.commit("Elsewhere in the file", {"engine.py": changed(3, "first\n") + "end\n"})
    second = repository.commit(
        "Build upon it", {"engine.py": changed(3, "second\n") + "end\n", "other.py": "x = 2\n"}
    )
    third = repository.commit("Build upon that", {"other.py": "x = 3\n"})
    found = plan(repository, culprit)
    assert (found.commit, found.conflicts) == (None, ("engine.py",))
    assert found.order == (third, second, culprit)
    assert repository.git("branch", "--list", "revert/*") == ""


@pytest.mark.parametrize(
    ("culprit", "base", "said"),
    [
        ("0" * 40, "main", "has no commit 0000"),
        ("main", "nowhere", "has no commit nowhere"),
        ("side", "main", "there is nothing to revert"),
    ],
    ids=["unknown-culprit", "unknown-base", "not-on-the-branch"],
)
def test_what_cannot_be_reverted_is_an_error(repository, culprit, base, said):
    repository.git("switch", "--quiet", "-c", "side")
    repository.commit("Side work", {"engine.py": changed(3, "side\n")})
    repository.git("switch", "--quiet", "main")
    with pytest.raises(UsageError, match=said):
        plan(repository, culprit, base=base)


def test_what_is_gone_already_is_said(repository):
    culprit = repository.commit("Break it", {"engine.py": changed(3, "broken\n")})
    repository.commit("Undo it by hand", {"engine.py": LINES})
    with pytest.raises(UsageError, match="changes nothing"):
        plan(repository, culprit)
    assert len(repository.git("worktree", "list").splitlines()) == 1


def test_a_branch_of_that_name_that_is_something_else_is_left(repository):
    culprit = repository.commit("Break it", {"engine.py": changed(3, "broken\n")})
    repository.git("branch", "revert/one")
    with pytest.raises(UsageError, match="does not revert"):
        plan(repository, culprit)


# How far the bot goes.


@pytest.fixture
def scene(repository):
    """A broken main, an incident with a proven culprit, and a workshop that may act."""
    culprit = repository.commit("Break it (#7)", {"engine.py": changed(3, "broken\n")})
    head = repository.commit("Something else", {"other.py": "x = 2\n"})
    repository.push()
    commits = tuple(
        Commit(sha=sha, title=title, pull_request=number, committed_at=NOW - timedelta(hours=2))
        for sha, title, number in ((culprit, "Break it (#7)", 7), (head, "Something else", 8))
    )
    incident = Incident(
        incident_id="inc-1",
        kind="commits",
        status="confirmed",
        signature="KeyError",
        failure_class="test_regression",
        jobs=("kernels",),
        tests=("tests/test_a.py::test_b[`x`]",),
        first_bad=culprit,
        last_good="a" * 40,
        suspects=commits[:1],
        unknown=0,
        failures=3,
        passes=9,
        opened_at=NOW,
        last_seen_at=NOW,
        line="KeyError: 'w' @everyone",
        url="https://buildkite.com/acme/engine/builds/1",
        next_step=NextStep(step="verify", reason="r"),
        reasons=("culprit fails 5 of 5, parent passes 5 of 5",),
        culprit=Culprit(commit=commits[0], probability=0.9999, verified=True),
    )
    host = FakeCodeHost()
    host.add(7, labels=("bug",))
    policy = Policy.model_validate(
        {"revert": {"mode": "act"}, "repository": {"slug": "acme/engine"}}
    )
    shop = Workshop(
        policy=policy,
        permit=GO,
        mainline=Mainline(commits),
        now=NOW,
        repository=repository.folder,
        host=host,
    )
    return repository, incident, shop, host


def test_a_proven_culprit_gets_one_draft_with_the_proof(scene):
    repository, incident, shop, host = scene
    (made,) = make_reverts([incident], [], shop)
    assert (made.outcome, made.url) == ("opened", "https://github.com/acme/engine/pull/8")
    title, body = host.texts[8]
    assert title == 'Revert "Break it" (#7)'
    assert "culprit fails 5 of 5, parent passes 5 of 5" in body
    assert "``tests/test_a.py::test_b[`x`]``" in body
    assert repository.git("ls-remote", "--heads", "origin", made.branch.name)
    assert made.row.subject == f"commit/{incident.culprit.commit.sha}"
    assert (made.row.outcome, made.row.mode) == ("opened", "act")


def act(**changes):
    fields = {"subject": "commit/x", "at": NOW - timedelta(hours=30), "mode": "act"}
    return PastAct(**{**fields, **changes})


def stopped(scene, past=(), **changes):
    """What a proposal in mode act says that held it back."""
    _, incident, shop, host = scene
    policy = {"revert": {"mode": "act", **changes.pop("limits", {})}}
    shop = replace(shop, policy=Policy.model_validate(policy), **changes.pop("shop", {}))
    incident = replace(incident, **changes)
    (made,) = make_reverts([incident], list(past), shop)
    assert made.outcome == "proposed"
    assert "open_draft" not in host.asked
    assert made.row.mode == "notify"
    return made.row.reason


def test_without_proof_nothing_is_opened(scene):
    _, incident, _, _ = scene
    guess = replace(incident.culprit, verified=False)
    assert stopped(scene, culprit=guess) == "the culprit is not verified"


def test_a_suspicion_is_not_enough(scene):
    assert stopped(scene, status="suspected") == "the incident is not confirmed"


def test_a_revert_is_not_reverted_by_a_program(scene):
    _, incident, _, _ = scene
    again = replace(incident.culprit.commit, reverts="b" * 40)
    told = stopped(scene, culprit=replace(incident.culprit, commit=again))
    assert told == "the culprit is a revert itself, of bbbbbbbbbb"


def test_an_old_culprit_is_for_people(scene):
    _, incident, _, _ = scene
    old = replace(incident.culprit.commit, committed_at=NOW - timedelta(days=20))
    assert "older than 14 days" in stopped(scene, culprit=replace(incident.culprit, commit=old))


def test_an_author_may_opt_out(scene):
    scene[3].add(7, labels=("no-auto-revert",))
    assert stopped(scene) == "its pull request has the label no-auto-revert"


def test_where_the_labels_cannot_be_read_nothing_is_opened(scene):
    scene[3].broken = True
    assert "nobody can have opted out" in stopped(scene)


def test_the_switch_stops_it(scene):
    assert stopped(scene, shop={"permit": Permit(given=False, reason="off")}) == "off"


def test_a_cool_down_and_a_daily_cap_hold_it_back(scene):
    recent = act(at=NOW - timedelta(minutes=10))
    assert stopped(scene, [recent]) == "the last one was at 11:50 UTC: wait 60 minutes"
    spread = [act(at=NOW - timedelta(hours=hours)) for hours in (3, 5, 7)]
    assert stopped(scene, spread) == "3 of at most 3 in 24 hours were done"
    assert stopped(scene, limits={"per_day": 0}) == "0 of at most 0 in 24 hours were done"


def test_what_was_only_written_down_uses_up_no_limit(scene):
    _, incident, shop, _ = scene
    shadows = [act(mode="shadow", at=NOW), act(mode="notify", at=NOW)]
    (made,) = make_reverts([incident], shadows, shop)
    assert made.outcome == "opened"


@pytest.mark.parametrize(
    "past",
    [{"subject": "commit/CULPRIT"}, {"incident_id": "inc-1"}],
    ids=["same-commit", "same-incident"],
)
def test_one_revert_for_a_commit_and_for_an_incident_ever(scene, past):
    _, incident, shop, host = scene
    sha = incident.culprit.commit.sha
    before = act(**{key: value.replace("CULPRIT", sha) for key, value in past.items()})
    assert make_reverts([incident], [before], shop) == []
    assert "open_draft" not in host.asked


@pytest.mark.parametrize("before", ["shadow", "notify"])
def test_what_was_held_back_is_opened_once_it_may_be(scene, before):
    _, incident, shop, host = scene
    told = act(subject=f"commit/{incident.culprit.commit.sha}", mode=before, at=NOW)
    (made,) = make_reverts([incident], [told], shop)
    assert made.outcome == "opened"
    assert host.asked.count("open_draft") == 1


@pytest.mark.parametrize("mode", ["shadow", "notify"])
def test_what_was_told_is_not_told_again(scene, mode):
    _, incident, shop, _ = scene
    told = act(subject=f"commit/{incident.culprit.commit.sha}", mode=mode, at=NOW)
    quiet = replace(shop, policy=Policy.model_validate({"revert": {"mode": mode}}))
    assert make_reverts([incident], [told], quiet) == []


def test_a_closed_draft_says_nothing_while_its_repair_may_come():
    closed = PullRequest(number=1, url="u", state="closed")
    open_question = {"fixed_by": None, "culprit_touched": False}
    assert fate(closed, **open_question, repair_may_come=True) is None
    assert fate(closed, **open_question) == "closed"
    assert fate(closed, fixed_by="a", culprit_touched=True) == "fixed-forward"
    assert fate(closed, fixed_by="a", culprit_touched=False) == "closed"


def test_two_incidents_of_one_culprit_get_one_draft(scene):
    _, incident, shop, host = scene
    other = replace(incident, incident_id="inc-2", jobs=("models",))
    assert len(make_reverts([incident, other], [], shop)) == 1
    assert host.asked.count("open_draft") == 1


def test_a_second_culprit_has_to_wait(scene):
    repository, incident, shop, _ = scene
    head = repository.git("rev-parse", "main")
    commit = Commit(sha=head, title="Something else", pull_request=7)
    other = replace(incident, incident_id="inc-2", culprit=replace(incident.culprit, commit=commit))
    made = make_reverts([incident, other], [], shop)
    assert [each.outcome for each in made] == ["opened", "proposed"]
    assert "wait 60 minutes" in made[1].row.reason


def test_what_the_branch_took_back_is_left_unless_it_came_again(scene):
    _, incident, shop, _ = scene
    gone = incident.culprit.commit.sha
    revert = Commit(sha="d" * 40, reverts=gone)
    again = Commit(sha="e" * 40, reverts="d" * 40)
    taken = replace(shop, mainline=Mainline((*shop.mainline.commits, revert)))
    assert make_reverts([incident], [], taken) == []
    back = replace(shop, mainline=Mainline((*shop.mainline.commits, revert, again)))
    assert len(make_reverts([incident], [], back)) == 1


@pytest.mark.parametrize("mode", ["shadow", "notify"])
def test_in_other_modes_it_is_only_written_down(scene, mode):
    repository, incident, shop, host = scene
    policy = Policy.model_validate({"revert": {"mode": mode}})
    (made,) = make_reverts([incident], [], replace(shop, policy=policy))
    assert (made.outcome, made.row.mode) == ("proposed", mode)
    assert made.branch.clean
    assert repository.git("branch", "--list", "revert/*") == ""
    assert "open_draft" not in host.asked


def test_a_dry_run_opens_nothing(scene):
    repository, incident, shop, host = scene
    (made,) = make_reverts([incident], [], shop, dry_run=True)
    assert made.outcome == "proposed"
    assert repository.git("branch", "--list", "revert/*") == ""
    assert "open_draft" not in host.asked


def test_where_it_does_not_apply_the_order_is_told(scene):
    repository, incident, shop, host = scene
    later = repository.commit("Build upon it", {"engine.py": changed(3, "second\n")})
    repository.push()
    commits = (*shop.mainline.commits, Commit(sha=later, title="Build upon *it*"))
    (made,) = make_reverts([incident], [], replace(shop, mainline=Mainline(commits)))
    assert made.outcome == "conflicts"
    assert f"1. `git revert {later[:10]}` Build upon \\*it\\*" in made.body
    assert "open_draft" not in host.asked


def test_a_host_that_fails_leaves_a_proposal_and_the_reason(scene):
    _, incident, shop, host = scene
    host.open_draft = FakeCodeHost.open_draft.__get__(broken := FakeCodeHost())
    broken.broken = True
    (made,) = make_reverts([incident], [], shop)
    assert (made.outcome, made.url, made.row.mode) == ("proposed", None, "notify")
    assert "502 Bad Gateway" in made.row.reason
