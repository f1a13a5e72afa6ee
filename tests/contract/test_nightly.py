"""Whole nights over a made warehouse, a real repository, and a code host and chat in memory."""

import json
import os
import random
import subprocess
import sys
import time
from dataclasses import replace
from datetime import timedelta

import pytest
from factories import NOON, attempt_row, batch, commit_row, failure_row
from fake_codehost import FakeCodeHost
from git_repository import GitRepository
from stores import served_folder

from gauntlet.__main__ import run
from gauntlet.analyzer.acting.policy import Policy
from gauntlet.analyzer.incidents.incident import Culprit
from gauntlet.analyzer.incidents.update import (
    IncidentRequest,
    look,
    one_of,
    picture,
    record_incident,
)
from gauntlet.analyzer.incidents_revert import prepare_revert
from gauntlet.analyzer.nightly.all_steps import STEPS
from gauntlet.analyzer.nightly.journal import open_night
from gauntlet.analyzer.nightly.night import Night, run_night
from gauntlet.core.clock import utc_now
from gauntlet.core.errors import ExternalServiceError
from gauntlet.services.chat.port import Posted
from gauntlet.warehouse.delivery import deliver
from gauntlet.warehouse.store import open_store

TODAY = utc_now().replace(hour=0, minute=0, second=0, microsecond=0)
NIGHT = (TODAY - timedelta(days=1)).date()
SHIFT = TODAY - timedelta(days=1) - NOON
KILLS = 20 if os.environ.get("GAUNTLET_SLOW") == "full" else 2


class FakeChat:
    edits = True

    def __init__(self):
        self.log, self.broken = [], False

    def post(self, message, *, thread=None):
        if self.broken:
            raise ExternalServiceError("the chat is away")
        self.log.append(("post", message.key))
        return Posted(channel="C1", stamp=str(len(self.log)))

    def edit(self, posted, message):
        self.log.append(("edit", message.key))
        return True


@pytest.fixture
def scene(tmp_path):
    """A repository whose ninth commit broke a job, and a warehouse that saw it."""
    repository = GitRepository(tmp_path)
    shas = [repository.commit(f"Change {n} (#{n})", {f"f{n}.py": "x"}) for n in range(1, 12)]
    repository.push()
    with served_folder(tmp_path / "warehouse") as location:
        give(location, "start", *rows_of(shas, 8), just_now())
        yield repository, shas, location, tmp_path


def rows_of(shas, good):
    for place, sha in enumerate(shas, start=1):
        at = NOON + SHIFT + timedelta(hours=place - 12)
        yield commit_row(
            place,
            sha=sha,
            committed_at=at,
            title=f"Change {place} (#{place})",
            pull_request=place,
            paths=(f"f{place}.py",),
        )
        state = {"state": "passed"} if place <= good else {"state": "failed", "exit_status": 1}
        row = attempt_row("kernels", place, sha=sha, **state)
        times = ("created_at", "runnable_at", "started_at", "finished_at")
        moved = {name: getattr(row, name) + SHIFT - timedelta(hours=12) for name in times}
        row = row.model_copy(update=moved)
        yield row
        if place > good:
            yield failure_row(row)


def just_now():
    """A job of another branch that ended a moment ago: the fleet is not silent."""
    now = utc_now()
    times = ("created_at", "runnable_at", "started_at", "finished_at")
    return attempt_row("lint", 99, branch="pr").model_copy(update=dict.fromkeys(times, now))


def give(location, name, *rows):
    deliver(location, [batch(f"b-{name}", *rows)])


def night_of(scene, **changes):
    repository, _, location, _ = scene
    fields = {
        "date": NIGHT,
        "branch": "main",
        "location": location,
        "policy": Policy(),
        "repository": repository.folder,
    }
    return Night(**{**fields, **changes})


def go(scene, folder="nights", steps=STEPS, **changes):
    night = night_of(scene, **changes)
    with open_night(scene[3] / folder, night.date, night.branch) as opened:
        ending = run_night(night, opened, steps, lambda line: None)
        return ending, opened


def decided(location):
    with open_store(location) as store:
        return store.read_only("SELECT kind, subject, outcome, mode FROM decisions ORDER BY at")


def test_a_night_finds_what_broke_reports_it_once_and_done_again_changes_nothing(scene):
    chat = FakeChat()
    ending, opened = go(scene, chat=chat)
    assert int(ending.exit_code) == 6
    assert [(name, status) for name, status, _ in ending.steps] == [
        ("ingest", "done"),
        ("judge", "skipped"),
        ("classify", "done"),
        ("incidents", "done"),
        ("probes", "skipped"),
        ("act", "done"),
        ("alerts", "done"),
        ("report", "done"),
    ]
    text = (opened.folder / "report.md").read_text()
    assert "1 newly broken" in text.splitlines()[0]
    assert "in kernels" in text
    before, sent = decided(scene[2]), list(chat.log)
    assert [row["kind"] for row in before] == ["incident"]
    assert [what for what, _ in sent] == ["post", "post"]
    again, opened = go(scene, chat=chat)
    assert int(again.exit_code) == 6
    assert (decided(scene[2]), chat.log) == (before, sent)
    with open_night(scene[3] / "nights", NIGHT, "main") as folder:
        folder.forget()
    _, opened = go(scene, chat=chat)
    assert (decided(scene[2]), chat.log) == (before, sent)
    assert "1 newly broken" in (opened.folder / "report.md").read_text()


def test_the_next_night_says_still_broken_and_the_one_after_the_repair_fixed(scene):
    repository, _, location, _ = scene
    go(scene)
    following = {"date": NIGHT + timedelta(days=1)}
    ending, opened = go(scene, **following)
    assert int(ending.exit_code) == 0
    assert "1 still broken" in (opened.folder / "report.md").read_text().splitlines()[0]
    repaired = repository.commit("Repair (#12)", {"f9.py": "y"})
    row = attempt_row("kernels", 12, sha=repaired)
    row = row.model_copy(update={"created_at": TODAY, "finished_at": TODAY})
    fix = commit_row(12, sha=repaired, committed_at=TODAY, title="Repair (#12)")
    give(location, "repair", fix, row)
    ending, opened = go(scene, date=NIGHT + timedelta(days=2))
    assert "1 fixed" in (opened.folder / "report.md").read_text().splitlines()[0]
    assert f"fixed by {repaired[:10]}" in (opened.folder / "report.md").read_text()


def test_a_dry_run_records_sends_and_changes_nothing(scene):
    chat, host = FakeChat(), FakeCodeHost()
    ending, opened = go(scene, chat=chat, host=host, dry_run=True)
    assert decided(scene[2]) == []
    assert chat.log == []
    assert "1 newly broken" in (opened.folder / "report.md").read_text()
    assert ending.steps[0][1] == "skipped"


def test_a_chat_that_is_away_fails_the_step_and_the_report_is_there(scene):
    chat = FakeChat()
    chat.broken = True
    ending, opened = go(scene, chat=chat)
    assert ending.steps[-1][1] == "failed"
    assert (opened.folder / "report.md").exists()
    chat.broken = False
    ending, _ = go(scene, chat=chat)
    assert ending.steps[-1][1] == "done"
    assert [what for what, _ in chat.log] == ["post", "post"]


def test_a_step_that_fails_is_named_and_does_not_keep_the_others_back(scene):
    def broken(night, folder):
        raise ExternalServiceError("Buildkite is away", hint="later")

    steps = [replace(step, run=broken) if step.name == "classify" else step for step in STEPS]
    ending, opened = go(scene, steps=steps)
    assert {n: s for n, s, _ in ending.steps}["incidents"] == "done"
    text = (opened.folder / "report.md").read_text()
    assert "1 not looked at" in text.splitlines()[0]
    assert "classify: Buildkite is away" in text
    ending, opened = go(scene)
    assert {n: s for n, s, _ in ending.steps}["classify"] == "done"
    assert "not looked at" not in (opened.folder / "report.md").read_text().splitlines()[0]


def prove(location, now):
    """Record a verified culprit, as a search does."""
    with open_store(location) as store:
        found = picture(store, IncidentRequest(now=now))
    (incident,) = found.incidents
    culprit = Culprit(commit=incident.suspects[0], probability=0.9999, verified=True)
    proven = incident.with_culprit(culprit, reason="culprit fails 5 of 5, parent passes 5 of 5")
    record_incident(proven, location, at=now)


def test_a_proven_culprit_is_reverted_once_and_its_fate_is_counted(scene, tmp_path):
    location = scene[2]
    switch = tmp_path / "switch"
    switch.write_text("on\n")
    host = FakeCodeHost()
    host.add(9)
    policy = Policy.model_validate({"switch": {"file": str(switch)}, "revert": {"mode": "act"}})
    acting = {"policy": policy, "host": host}
    go(scene, **acting)
    assert "open_draft" not in host.asked
    prove(location, utc_now())
    second = {**acting, "date": NIGHT + timedelta(days=1)}
    _, opened = go(scene, **second)
    assert host.asked.count("open_draft") == 1
    report = (opened.folder / "report.md").read_text()
    assert r"culprit \#9" in report
    assert "(verified)" in report
    assert "pull/10" in report
    assert "none decided yet, 1 waiting" in report
    with open_night(tmp_path / "nights", second["date"], "main") as folder:
        folder.forget()
    go(scene, **second)
    assert host.asked.count("open_draft") == 1
    host.end(10, "merged")
    _, opened = go(scene, **{**acting, "date": NIGHT + timedelta(days=2)})
    assert "1 of 1 right" in (opened.folder / "report.md").read_text()
    reverts = [(r["outcome"], r["mode"]) for r in decided(location) if r["kind"] == "revert"]
    assert reverts == [("opened", "act"), ("merged", "act")]


def test_one_night_finds_proves_and_reverts(scene, tmp_path):
    """The job fails wherever the file of the ninth commit is: a search by real runs proves it."""
    location, repository = scene[2], scene[0]
    (tmp_path / "switch").write_text("on")
    host = FakeCodeHost()
    host.add(9)
    policy = Policy.model_validate(
        {
            "switch": {"file": str(tmp_path / "switch")},
            "revert": {"mode": "act"},
            "probes": {
                "via": "command",
                "command": ["sh", "-c", "echo {job}; test ! -e f9.py"],
            },
        }
    )
    ending, opened = go(scene, policy=policy, host=host)
    assert {name: status for name, status, _ in ending.steps}["probes"] == "done"
    report = (opened.folder / "report.md").read_text()
    assert r"culprit \#9" in report
    assert "(verified)" in report
    assert host.asked.count("open_draft") == 1
    assert "Change 9" in host.texts[10][0]
    head = repository.git("ls-remote", "origin", f"refs/heads/revert/{scene[1][8][:10]}")
    repository.git("fetch", "origin", head.split()[0])
    assert "f9.py" not in repository.git("ls-tree", "--name-only", head.split()[0])
    assert repository.git("status", "--short") == ""
    runs = [row for row in decided(location) if row["kind"] in ("incident", "revert")]
    with open_store(location) as store:
        seen = look(store, IncidentRequest(now=utc_now()))
    made = prepare_revert(
        one_of(seen.picture, "inc-").incident,
        seen.history.mainline,
        repository.folder,
        policy,
        dry_run=True,
    )
    assert made.branch.clean
    assert (made.title, made.body) == host.texts[10]
    with open_night(tmp_path / "nights", NIGHT, "main") as folder:
        folder.forget()
    go(scene, policy=policy, host=host)
    assert [r for r in decided(location) if r["kind"] in ("incident", "revert")] == runs


def test_without_the_switch_a_proven_culprit_is_only_told(scene):
    host = FakeCodeHost()
    host.add(9)
    policy = Policy.model_validate({"revert": {"mode": "act"}})
    go(scene)
    prove(scene[2], utc_now())
    _, opened = go(scene, policy=policy, host=host, date=NIGHT + timedelta(days=1))
    assert "open_draft" not in host.asked
    (made,) = json.loads((opened.folder / "reverts.json").read_text())
    assert (made["outcome"], made["mode"]) == ("proposed", "notify")
    assert "the policy names no switch" in made["stops"]
    assert "### Proof" in made["body"]
    go(scene, policy=policy, host=host, date=NIGHT + timedelta(days=2))
    reverts = [(r["outcome"], r["mode"]) for r in decided(scene[2]) if r["kind"] == "revert"]
    assert reverts == [("proposed", "notify")]
    (scene[3] / "switch").write_text("on")
    allowed = {**policy.model_dump(), "switch": {"file": scene[3] / "switch"}}
    now = Policy.model_validate(allowed)
    go(scene, policy=now, host=host, date=NIGHT + timedelta(days=3))
    assert host.asked.count("open_draft") == 1


def command(location, folder, *more):
    options = ["--warehouse", str(location), "--folder", str(folder)]
    return [sys.executable, "-m", "gauntlet", "nightly", "--date", str(NIGHT), *options, *more]


@pytest.mark.slow
def test_a_night_that_is_killed_at_any_moment_goes_on(scene, tmp_path):
    location = scene[2]
    rng = random.Random(4)
    for _ in range(KILLS):
        night = subprocess.Popen(
            command(location, tmp_path / "nights"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(rng.uniform(0.3, 4.0))
        night.kill()
        night.wait()
    done = subprocess.run(
        command(location, tmp_path / "nights", "--json"),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 6, done.stderr
    assert [row["outcome"] for row in decided(location)] == ["open"]
    told = json.loads(done.stdout)
    assert {step["status"] for step in told["steps"]} <= {"done", "skipped"}
    assert "1 newly broken" in (tmp_path / "nights" / str(NIGHT) / "report.md").read_text()


def test_two_nights_at_once_are_refused(scene, tmp_path, capsys):
    with open_night(tmp_path / "nights", NIGHT, "main"):
        status = run(command(scene[2], tmp_path / "nights")[3:])
    assert status == 2
    assert f"another process is at the night of {NIGHT}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--date", "yesterday"], "does not match the format"),
        (["--policy", "POLICY"], "revert.mode"),
        (["--policy", "nowhere.yaml"], "does not exist"),
        (["--repo", "nowhere"], "does not exist"),
        (["--branch", "gone"], "no commit of gone"),
    ],
    ids=["date", "policy", "no-policy", "no-repository", "branch"],
)
def test_what_a_stranger_gets_wrong_is_said(scene, tmp_path, capsys, words, said):
    bad = tmp_path / "policy.yaml"
    bad.write_text("revert: {mode: attack}\n")
    words = [str(bad) if word == "POLICY" else word for word in words]
    status = run([*command(scene[2], tmp_path / "nights")[3:], *words])
    out, err = capsys.readouterr()
    assert status in (2, 4)
    assert said in err + out
