"""``release cut``, ``picks``, ``candidate``, ``notes``, ``status`` as a stranger types them."""

import json
from datetime import timedelta

import pytest
from factories import attempt_row, batch, build_row, commit_row, decision_row, repetition_row
from http_services import SlackServer
from loopback import served
from releasing import BRANCH, Engine
from stores import served_folder

from gauntlet.__main__ import run
from gauntlet.core.clock import utc_now
from gauntlet.warehouse.delivery import deliver
from gauntlet.warehouse.store import open_store

POLICY = """\
schema_version: 1
chat: {{channel: C1, api_url: "{url}api/"}}
schedule: {{picks_close: {{weekday: {close}, time: "00:00"}}}}
allow: [{{paths: [setup.py], subject: "Version .*"}}]
gates: [{{name: full-ci, kind: ci, lanes: [{{name: any}}]}}]
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A warehouse that is served, and a chat."""
    folder = tmp_path_factory.mktemp("release")
    with served_folder(folder / "wh") as location, served(SlackServer()) as slack:
        yield location, slack


@pytest.fixture
def release(tmp_path, place, monkeypatch, capsys):
    """Run a command of release in a new engine; returns exit code, stdout, stderr."""
    location, slack = place
    engine = Engine(tmp_path)
    monkeypatch.setenv("SLACK_BOT_TOKEN", slack.token)
    policy = tmp_path / "policy.yaml"
    weekdays = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
    tomorrow = weekdays[(utc_now() + timedelta(days=2)).weekday()]
    policy.write_text(POLICY.format(url=slack.url, close=tomorrow))

    def command(name, *arguments, repository=True):
        where = ["--releases", str(engine.releases), "--policy", str(policy)]
        if name != "notes" and "--warehouse" not in arguments:
            where += ["--warehouse", location]
        if repository:
            where += ["--repository", str(engine.folder)]
        code = run(["release", name, *arguments, *where])
        told = capsys.readouterr()
        return code, told.out, told.err

    command.engine, command.slack, command.location = engine, slack, location
    return command


def fill(location, engine):
    """Two full builds of main: the newer one has a regression, the older only a lost agent."""
    now = utc_now()
    older = engine.git("rev-parse", "HEAD^")
    rows = []
    for number, sha, failed in ((1, older, 0), (2, engine.cut_at, 1)):
        created = now - timedelta(hours=9 - number)
        times = {"created_at": created, "finished_at": now - timedelta(hours=1)}
        rows += [
            commit_row(number, sha=sha, committed_at=created, repository="release", branch="main"),
            build_row(number, sha=sha, state="failed" if failed else "passed", **times),
        ]
        for n in range(4):
            state = "failed" if failed and n < 3 else "passed"
            rows.append(attempt_row(f"job-{n}", number, sha=sha, state=state, **times))
    measured = {"started_at": now, "ended_at": now, "engine_commit": older, "side": "candidate"}
    rows.append(repetition_row("judged", **measured))
    rows += [
        decision_row("judged", subject=subject, at=now) for subject in ("load/a/b", "eval/a/b")
    ]
    deliver(location, [batch(f"release {older}", *rows)])
    return older


def test_from_the_greenest_commit_to_two_candidates(release):
    engine = release.engine
    older = fill(release.location, engine)
    code, out, _ = release("cut", "v1.2.0", "--dry-run")
    assert code == 0
    assert f"1. {older[:10]} build 1: " in out
    assert f"too many points: {engine.cut_at[:10]} build 2: " in out
    assert engine.at_remote(BRANCH) == ""
    code, out, err = release("cut", "v1.2.0")
    assert (code, "nobody is there to be asked" in err) == (2, True)
    code, out, _ = release("cut", "v1.2.0", "--yes", "--json", "--by", "Ann")
    told = json.loads(out)
    assert (code, told["made"], told["release"]["cut"]["commit"]) == (0, True, older)
    assert told["ranking"]["candidates"][0]["build"] == 1
    assert engine.at_remote(BRANCH) == older
    code, out, _ = release("cut", "v1.2.0")
    assert (code, out.startswith("v1.2.0 was cut by Ann on ")) == (0, True)
    assert release("candidate", "v1.2.0", "--yes")[0] == 0

    fix = engine.edit("Fix (#8)", 3, "fixed")
    engine.push()
    code, out, _ = release("picks", "v1.2.0", "8")
    assert (code, out.startswith("picks       #8")) == (0, True)
    code, out, _ = release("picks", "v1.2.0", fix, "--apply", "--yes", "--json")
    (item,) = json.loads(out)["items"]
    assert (code, item["applied"]) == (0, engine.at_remote(BRANCH))
    code, out, _ = release("candidate", "v1.2.0", "--yes", "--json")
    assert (code, json.loads(out)["candidate"]["name"]) == (0, "v1.2.0rc2")
    code, out, _ = release("candidate", "v1.2.0")
    assert (code, "v1.2.0rc2 is at " in out) == (0, True)

    code, out, _ = release("notes", "v1.2.0")
    assert (code, "- Fix (#8), Ann" in out, out.startswith("# v1.2.0\n")) == (0, True, True)
    code, out, _ = release("status", "v1.2.0", repository=False)
    assert (code, "release plan v1.2.0rc2 --pipeline" in out.splitlines()[-1]) == (0, True)
    texts = [message["text"] for message in release.slack.messages.values()]
    assert [text.split(" ")[0] for text in texts] == ["v1.2.0", "v1.2.0rc1", "v1.2.0rc2"]
    with open_store(release.location) as store:
        rows = store.query("decisions_about", subject="release/v1.2.0")
    assert sorted(row["outcome"] for row in rows) == ["candidate", "candidate", "cut", "picked"]


def test_without_a_warehouse_nothing_is_proposed_and_none_is_made(release, tmp_path):
    code, _, err = release("cut", "v1.2.0", "--dry-run", "--warehouse", str(tmp_path / "no"))
    assert (code, "there is no warehouse" in err) == (2, True)
    assert not (tmp_path / "no").exists()


def begun(release):
    """A release that was cut by hand."""
    engine = release.engine
    arguments = ["--commit", engine.cut_at, "--reason", "because", "--yes"]
    assert release("cut", "v1.2.0", *arguments)[0] == 0
    return engine


def test_what_does_not_come_ends_with_six_and_the_rest_comes(release):
    engine = begun(release)
    engine.edit("Rework (#8)", 10, "reworked")
    engine.edit("Fix the rework (#9)", 10, "right")
    engine.edit("Elsewhere (#10)", 30, "elsewhere")
    engine.push()
    (engine.folder / "list.txt").write_text("#9 the crash\n#10\n")
    file = str(engine.folder / "list.txt")
    code, out, err = release("picks", "v1.2.0", "--from", file, "--apply", "--yes")
    assert code == 6
    assert "left out: #9 (conflict)" in err
    assert "it depends on unpicked" in out
    head = engine.at_remote(BRANCH)
    assert engine.git("log", "-1", "--format=%s", head) == "Elsewhere (#10)"


def test_a_branch_with_a_commit_of_its_own_has_no_candidate(release):
    engine = begun(release)
    engine.git("checkout", "--quiet", "-b", "work")
    engine.commit("Version 1.2", {"setup.py": "version = '1.2'\n"})
    engine.git("push", "--quiet", "origin", f"work:{BRANCH}")
    assert release("candidate", "v1.2.0", "--dry-run")[0] == 0
    engine.commit("Quick fix", {"engine.py": "x\n"})
    engine.git("push", "--quiet", "origin", f"work:{BRANCH}")
    for extra in (["--dry-run"], ["--yes"], ["--json", "--yes"]):
        code, out, err = release("candidate", "v1.2.0", *extra)
        assert code == 6
        assert "main has nothing like it" in out + err
    assert engine.at_remote("refs/tags/v1.2.0rc1") == ""


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["cut", "1.2"], 2, "cannot be released"),
        (["cut", "v1.2.0", "--commit", "HEAD"], 2, "--reason TEXT"),
        (["cut", "v1.2.0", "--remote", "upstream"], 2, "has no remote upstream; it has origin"),
        (["picks", "v1.2.0"], 2, "there is no release v1.2.0"),
        (["picks", "v1.2.0", "--from", "/nowhere"], 2, "does not exist"),
        (["candidate", "v1.2.0"], 2, "begin it with: release cut v1.2.0"),
        (["notes", "v1.2.0"], 2, "there is no release v1.2.0"),
    ],
    ids=["version", "reason", "remote", "not cut", "no file", "no cut", "no notes"],
)
def test_mistakes_are_answered_with_what_to_do(release, arguments, code, words):
    found, _, err = release(*arguments)
    assert (found, words in err) == (code, True), err


def test_a_label_without_a_code_host_is_refused(release):
    begun(release)
    code, _, err = release("picks", "v1.2.0", "--label", "pick")
    assert (code, "no code host" in err) == (2, True)
