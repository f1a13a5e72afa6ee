"""From made rows and a real repository to a proven culprit that is recorded."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from click.testing import CliRunner
from factories import NOON, attempt_row, batch, commit_row, failure_row
from fake_buildkite import Organization, Server, serving
from git_repository import GitRepository
from stores import served_folder

from gauntlet.__main__ import run
from gauntlet.analyzer.culprits import ways
from gauntlet.analyzer.culprits.buildkite import BuildkiteProbes
from gauntlet.core.clock import utc_now
from gauntlet.warehouse.delivery import deliver
from gauntlet.warehouse.ingest.tests_command import junit

SHIFT = utc_now().replace(hour=1, minute=0, second=0, microsecond=0) - timedelta(days=2) - NOON
HOUR = timedelta(hours=1)
CHECK = '. ./a.sh; test "$x" != 1'
JUNIT = """<testsuite name="s" timestamp="{at}">
<testcase classname="tests.test_old" name="test_old" file="tests/test_old.py" time="1"/>
{new}</testsuite>"""
NEW = """<testcase classname="tests.test_new" name="test_new" file="tests/test_new.py" time="1">
<failure message="assert 1 == 2">assert 1 == 2</failure></testcase>"""


@pytest.fixture
def location(tmp_path):
    with served_folder(tmp_path / "warehouse") as folder:
        yield folder


@pytest.fixture
def repository(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    return GitRepository(tmp_path)


def at(job, number, sha, **changes):
    row = attempt_row(job, number, sha=sha, **changes)
    times = ("created_at", "runnable_at", "started_at", "finished_at")
    return row.model_copy(update={name: getattr(row, name) + SHIFT for name in times})


def rows_of(repository, shas, job, ended):
    """Commits in their order, and how the job ended at each: P, F or a dot."""
    found = []
    for number, (sha, letter) in enumerate(zip(shas, ended, strict=True), 1):
        title = repository.git("log", "-1", "--format=%s", sha)
        when = NOON + SHIFT + number * HOUR
        paths = tuple(repository.git("show", "--format=", "--name-only", sha).split())
        found.append(commit_row(number, sha=sha, title=title, committed_at=when, paths=paths))
        if letter == "P":
            found.append(at(job, number, sha))
        elif letter == "F":
            row = at(job, number, sha, state="failed", exit_status=1)
            found += [row, failure_row(row)]
    return found


def cli(capsys, *words):
    status = run([str(word) for word in words])
    out, err = capsys.readouterr()
    return status, out, err


def grown(repository, broken_at, count=16):
    shas = []
    for number in range(1, count + 1):
        files = {f"part_{number}.txt": "x\n"}
        if number in (1, broken_at):
            files["a.sh"] = f"x={int(number > 1)}\n"
        shas.append(repository.commit(f"Change {number} (#{100 + number})", files))
    return shas


def test_the_culprit_of_an_incident_is_found_proven_and_recorded(
    location, repository, capsys, tmp_path
):
    shas = grown(repository, 11)
    deliver(location, [batch("b", *rows_of(repository, shas, "kernels", "PPPPPPPP......FF"))])
    here = ("--warehouse", location)
    _, out, _ = cli(capsys, "incidents", "--json", *here)
    (opened,) = json.loads(out)["open"]
    assert opened["next"]["step"] == "bisect"
    words = ("incidents", "bisect", opened["id"][:8], *here, "--repo", repository.folder)

    status, out, _ = cli(capsys, *words, "--dry-run", "--json", "--", "sh", "-c", CHECK)
    plan = json.loads(out)
    assert (status, plan["job"], len(plan["suspects"])) == (0, "kernels", 8)
    failed, passed = {"failed": 1, "passed": 0}, {"failed": 0, "passed": 1}
    assert plan["seen"] == {shas[7]: passed, shas[14]: failed, shas[15]: failed}

    status, out, err = cli(capsys, *words, "--json", "--", "sh", "-c", CHECK)
    assert status == 0, err
    found = json.loads(out)
    assert found["culprit"]["sha"] == shas[10]
    assert found["culprit"]["verified"]
    assert found["culprit"]["probability"] >= 0.9999
    assert f"its parent {shas[9][:10]} passed" in found["reasons"][0]
    assert repository.git("worktree", "list").count("\n") == 0

    _, out, _ = cli(capsys, "incidents", *here)
    assert f"culprit {shas[10][:10]}" in out
    assert "(verified)" in out
    assert "next: none: the culprit is proven" in out
    assert cli(capsys, "incidents", "update", *here)[1] == "", "it is no news any more"
    status, out, _ = cli(capsys, *words, "--", "sh", "-c", CHECK)
    assert (status, "its culprit is proven already" in out) == (3, True)


def test_a_test_that_is_not_there_counts_as_one_that_passes(location, repository, capsys, tmp_path):
    repository.commit("Begin", {"tests/test_old.py": "def test_old():\n    pass\n"})
    shas = [repository.git("rev-parse", "HEAD")]
    for number in range(2, 10):
        new = {"tests/test_new.py": "def test_new():\n    assert 1 == 2\n"} if number == 7 else {}
        shas.append(repository.commit(f"Change {number}", {f"p{number}.txt": "x\n", **new}))
    rows = rows_of(repository, shas, "kernels", "PPPPP..FF")
    deliver(location, [batch("b", *rows)])
    for row in rows:
        if not hasattr(row, "state"):
            continue
        report = tmp_path / f"{row.job_id}.xml"
        new = NEW if row.state == "failed" else ""
        report.write_text(JUNIT.format(at=f"{row.started_at:%Y-%m-%dT%H:%M:%S}", new=new))
        options = ["--job-id", str(row.job_id), "--job-key", "kernels", "--sha", row.sha]
        options += ["--branch", "main", "--queue", row.queue, "--warehouse", location]
        done = CliRunner().invoke(junit, [str(report), *options])
        assert done.exit_code == 0, done.output
    _, out, _ = cli(capsys, "incidents", "--json", "--warehouse", location)
    (opened,) = json.loads(out)["open"]
    assert (opened["last_good"], len(opened["suspects"])) == (None, 3)
    words = ("incidents", "bisect", opened["id"], "--repo", repository.folder, "--json")
    # What pytest says and how it ends where it does not find a test; much quicker.
    there = "test -e tests/test_new.py || { echo 'ERROR: not found: '{tests}; exit 4; }; exit 1"
    status, out, err = cli(capsys, *words, "--warehouse", location, "--", "sh", "-c", there)
    found = json.loads(out)
    assert (status, found["culprit"]["sha"]) == (0, shas[6]), err
    assert "there is no such test" in str(found["answer"]["steps"])
    assert any("does not have it counts" in reason for reason in found["reasons"])


def test_what_is_missing_is_said_and_nothing_is_recorded(location, repository, capsys):
    shas = grown(repository, 2, count=5)
    rows = rows_of(repository, shas, "kernels", "PPPPF")
    gone = [commit_row(n, sha=f"{n:040x}", committed_at=NOON + SHIFT + n * HOUR) for n in (6, 7)]
    failed = [at("kernels", n, f"{n:040x}", state="failed") for n in (6, 7)]
    rows = [row for row in rows if getattr(row, "state", "") != "failed"]
    deliver(location, [batch("b", *rows, *gone, *failed)])
    here = ("--warehouse", location, "--repo", repository.folder)
    for words, said in (
        (("inc-zz", "--", "true"), "unknown open incident"),
        (("inc-",), "nothing says how to run"),
        (("inc-", "--via", "command"), "no command is given"),
        (("inc-", "--via", "buildkite"), "no organization"),
        (("inc-", "--policy", repository.folder / "a.sh", "--", "true"), "a.sh"),
    ):
        status, _, err = cli(capsys, "incidents", "bisect", *here, *words)
        assert (status, said in err) == (2, True), err
    status, out, _ = cli(capsys, "incidents", "bisect", "inc-", *here, "--", "true")
    assert status == 3
    assert "git fetch" in out
    _, out, _ = cli(capsys, "incidents", "update", *here[:2])
    assert " open " in out, "the search recorded nothing"


class Working(Server):
    """Agents go on whenever somebody looks; the job fails at the commits that are ``broken``."""

    def __init__(self, organization, broken):
        super().__init__(organization)
        self.broken = set(broken)

    async def _one(self, request):
        number = int(request.match_info["number"])
        commit = self.organization.builds[number]["commit"]
        for index in self.organization.jobs_in(number, "running"):
            state = "failed" if commit in self.broken else "passed"
            self.organization.finish(number, index, state=state)
        for index in self.organization.jobs_in(number, "scheduled"):
            self.organization.start(number, index)
        return await super()._one(request)


@pytest.fixture
def at_buildkite(tmp_path, monkeypatch):
    """Start a Buildkite at which commits are broken; gives it and the file of a policy."""

    def probes(actions, target, **options):
        return BuildkiteProbes(actions, replace(target, poll_s=0.001), **options)

    monkeypatch.setattr(ways, "BuildkiteProbes", probes)
    monkeypatch.setenv("BUILDKITE_API_TOKEN", Server.token)

    def policy(server):
        file = tmp_path / "policy.yaml"
        file.write_text(
            "buildkite: {organization: acme, pipeline: engine, branch: probes,"
            f" api_url: '{server.url}'}}\nprobes: {{via: buildkite}}\n"
        )
        return file

    return policy


def test_bisect_runs_one_job_at_buildkite(repository, at_buildkite, capsys):
    shas = grown(repository, 5, count=8)
    ends = ("--good", shas[0], "--bad", shas[7], "--repo", repository.folder)
    with serving(Working(Organization(), shas[4:])) as server:
        words = ("bisect", *ends, "--policy", at_buildkite(server), "--json")
        status, out, err = cli(capsys, *words, "--via", "buildkite", "--job", "job-1")
        assert status == 0, err
        found = json.loads(out)
        made = list(server.organization.builds.values())
        again = cli(capsys, *words, "--via", "buildkite", "--job", "job-1")
    assert found["culprit"]["sha"] == shas[4]
    assert found["runs"] == len(made)
    assert {build["branch"] for build in made} == {"probes"}
    assert {job["step_key"] for build in made for job in build["jobs"]} == {"job-1"}
    assert "bk build create" in found["reproduce"]
    assert json.loads(again[1])["steps"][0]["from_journal"]
    assert len(server.organization.builds) == len(made), "the journal answers"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--via", "buildkite"), "needs --job KEY"),
        (("--via", "buildkite", "--job", "x", "--", "true"), "exclude each other"),
        (("--via", "buildkite", "--job", "x"), "no organization is named"),
        (
            ("--via", "buildkite", "--job", "x", "--organization", "a", "--pipeline", "b"),
            "BUILDKITE_API_TOKEN is not set",
        ),
        (("--job", "x", "--", "true"), "--job: only with --via buildkite"),
        ((), "no COMMAND is given"),
    ],
)
def test_ways_of_bisect_that_do_not_go_together(words, said, repository, capsys, monkeypatch):
    monkeypatch.delenv("BUILDKITE_API_TOKEN", raising=False)
    shas = grown(repository, 2, count=3)
    ends = ("--good", shas[0], "--bad", shas[2], "--repo", repository.folder)
    status, _, err = cli(capsys, "bisect", *ends, *words)
    assert (status, said in err) == (2, True), err


def test_an_incident_is_searched_at_buildkite_as_the_policy_says(
    location, repository, at_buildkite, capsys
):
    shas = grown(repository, 11, count=14)
    deliver(location, [batch("b", *rows_of(repository, shas, "job-1", "PPPPPPPP....FF"))])
    here = ("--warehouse", location)
    with serving(Working(Organization(), shas[10:])) as server:
        words = ("incidents", "bisect", "inc-", *here, "--policy", at_buildkite(server))
        status, out, err = cli(capsys, *words, "--repo", repository.folder)
    assert status == 0, err
    assert f"culprit {shas[10][:10]}" in out
    assert "at Buildkite, on its own queue (job-1)" in out
    _, out, _ = cli(capsys, "incidents", "show", "inc-", *here)
    assert f"culprit     {shas[10][:10]}" in out
    assert "(verified)" in out


def test_flakes_are_proposed_once_and_a_dry_run_records_nothing(location, capsys, tmp_path):
    commits = [
        commit_row(n, committed_at=NOON + SHIFT + n * HOUR / 4) for n in range(1, 61)
    ]  # fmt: skip
    jobs = []
    for n in range(1, 61):
        bad = n % 5 == 0
        row = at("kernels", n, f"{n:040x}", state="failed" if bad else "passed")
        late = NOON + SHIFT + n * HOUR / 4 - row.created_at
        times = ("created_at", "runnable_at", "started_at", "finished_at")
        jobs.append(row.model_copy(update={name: getattr(row, name) + late for name in times}))
        jobs += [failure_row(row, "flaky", signature="timeout in server")] if bad else []
    deliver(location, [batch("b", *commits, *jobs)])
    policy = tmp_path / "policy.yaml"
    policy.write_text("propose: {mode: notify}\n")
    words = ("flakes", "propose", "--warehouse", location, "--policy", policy, "--json")
    for options, count in ((("--dry-run",), 1), ((), 1), ((), 0)):
        status, out, err = cli(capsys, *words, *options)
        assert status == 0, err
        found = json.loads(out)["proposals"]
        assert len(found) == count
    dry = json.loads(cli(capsys, *words, "--dry-run")[1])
    assert list(dry["held_back"].values()) == ["proposed already"]
