"""Incidents of a made-up warehouse: what ran goes in through the door, and comes out as causes."""

import json
from datetime import timedelta

import pytest
from click.testing import CliRunner
from factories import NOON, attempt_row, batch, commit_row, failure_row, sha_of
from stores import served_folder

from gauntlet.__main__ import run
from gauntlet.analyzer.incidents.update import IncidentRequest, decisions, picture, record
from gauntlet.core.clock import utc_now
from gauntlet.core.errors import UsageError
from gauntlet.warehouse.delivery import deliver
from gauntlet.warehouse.ingest.environment_command import environment
from gauntlet.warehouse.ingest.tests_command import junit
from gauntlet.warehouse.store import open_store

SHIFT = utc_now().replace(hour=1, minute=0, second=0, microsecond=0) - timedelta(days=2) - NOON
HOUR = timedelta(hours=1)


def attempt(job, number, attempt=1, **changes):
    row = attempt_row(job, number, attempt, **changes)
    times = ("created_at", "runnable_at", "started_at", "finished_at")
    return row.model_copy(update={name: getattr(row, name) + SHIFT for name in times})


def failed(job, number, attempt_number=1, cause="test_regression", **changes):
    row = attempt(job, number, attempt_number, state="failed", exit_status=1, **changes)
    return [row, failure_row(row, cause)]


def commits(upto):
    return [
        commit_row(n, committed_at=NOON + SHIFT + n * HOUR, paths=(f"part_{n}.py",))
        for n in range(1, upto + 1)
    ]


@pytest.fixture
def location(tmp_path):
    with served_folder(tmp_path / "warehouse") as folder:
        yield folder


def give(location, *rows):
    deliver(location, [batch(f"b{utc_now().isoformat()}", *rows)])


def look(location, **changes):
    with open_store(location) as store:
        return picture(store, IncidentRequest(**{"now": utc_now(), **changes}))


def broken(job, good, upto):
    return [
        row
        for n in range(1, upto + 1)
        for row in ([attempt(job, n)] if n <= good else failed(job, n))
    ]


def test_an_incident_is_opened_once_followed_and_closed_with_its_repair(location):
    give(location, *commits(11), *broken("kernels", 8, 11), *broken("models", 11, 11))
    first = look(location)
    (incident,) = first.incidents
    assert (incident.jobs, incident.first_bad, incident.last_good) == (
        ("kernels",),
        sha_of(9),
        sha_of(8),
    )
    assert [commit.paths for commit in incident.suspects] == [("part_9.py",)]
    assert record(first, location) == 1
    again = look(location)
    assert decisions(again) == ()
    assert again.incidents[0].incident_id == incident.incident_id
    with open_store(location) as store:
        (row,) = store.query("open_incidents")
    assert row["subject"] == incident.incident_id
    assert json.loads(row["evidence"])["first_bad"] == sha_of(9)

    repair = commit_row(
        12, committed_at=NOON + SHIFT + 12 * HOUR, title="Revert change 9", reverts=sha_of(9)
    )
    give(location, repair, attempt("kernels", 12), attempt("models", 12))
    over = look(location)
    assert over.incidents == ()
    assert over.ended[0].reason == f"fixed by {sha_of(12)[:10]}, which reverts {sha_of(9)[:10]}"
    assert record(over, location) == 1
    assert record(look(location), location) == 0
    with open_store(location) as store:
        assert store.query("open_incidents") == []


def test_lost_machines_soft_failures_and_wrong_exit_codes_count_for_what_they_are(location):
    lost = [row for n in (7, 8, 9) for row in failed("lost", n, cause="infra_agent")]
    soft = [attempt("soft", n, state="failed", soft_failed=True) for n in range(1, 10)]
    green = [attempt("lying", n) for n in range(1, 10)]
    lies = [failure_row(row, wrong_exit_code=True) for row in green[6:]]
    running = attempt("running", 9, state="running", finished_at=NOON)
    passed = [attempt("lost", n) for n in range(1, 7)]
    give(location, *commits(9), *lost, *passed, *soft, *green, *lies, running)
    assert [each.jobs for each in look(location).incidents] == [("lying",)]


JUNIT = """<testsuite name="s" timestamp="{at}">
<testcase classname="tests.test_a" name="test_old" time="1"/>
{new}</testsuite>"""
NEW = """<testcase classname="tests.test_a" name="test_new" time="1">
<failure message="assert 1 == 2">assert 1 == 2</failure></testcase>"""


def test_a_test_that_was_born_red_is_traced_to_the_commit_that_added_it(location, tmp_path):
    rows = [attempt("kernels", n) for n in range(1, 6)]
    rows += [row for n in (8, 9) for row in failed("kernels", n)]
    give(location, *commits(9), *rows)
    for row in rows:
        if not hasattr(row, "state"):
            continue
        report = tmp_path / f"{row.job_id}.xml"
        new = NEW if row.state == "failed" else ""
        report.write_text(JUNIT.format(at=f"{row.started_at:%Y-%m-%dT%H:%M:%S}", new=new))
        options = {
            "--job-id": row.job_id,
            "--job-key": row.job_key,
            "--sha": row.sha,
            "--branch": "main",
            "--queue": row.queue,
            "--warehouse": location,
        }
        words = [str(word) for pair in options.items() for word in pair]
        done = CliRunner().invoke(junit, [str(report), *words])
        assert done.exit_code == 0, done.output
    (incident,) = look(location).incidents
    assert [name.rpartition("::")[2] for name in incident.tests] == ["test_new"]
    assert (incident.last_good, incident.next_step.step) == (None, "bisect")
    assert [commit.sha for commit in incident.suspects] == [sha_of(6), sha_of(7), sha_of(8)]


def test_a_commit_that_fails_now_is_compared_with_when_it_passed(location, tmp_path):
    good, bad = attempt("kernels", 9), failed("kernels", 9, 2)
    give(location, *commits(9), *broken("kernels", 8, 8), good, *bad)
    before, after = tmp_path / "before.txt", tmp_path / "after.json"
    before.write_text("numpy==2.3.0\nFS_Spec==1.0\n-e git+https://x/y.git#egg=mine\n# note\n")
    packages = {"numpy": "2.4.0", "fs-spec": "1.0", "mine": "git+https://x/y.git"}
    released = {"numpy": f"{good.finished_at + timedelta(minutes=1):%Y-%m-%dT%H:%M:%SZ}"}
    driver = {"nvidia": "580.1"}
    after.write_text(json.dumps({"packages": packages, "released": released, "drivers": driver}))
    for file, row in ((before, good), (after, bad[0])):
        at = f"{row.finished_at:%Y-%m-%dT%H:%M:%SZ}"
        options = ["--job-id", str(row.job_id), "--at", at, "--warehouse", location]
        done = CliRunner().invoke(environment, [str(file), *options])
        assert done.exit_code == 0, done.output
    (incident,) = look(location).incidents
    assert (incident.kind, incident.failure_class) == ("environment", "dependency")
    told = [(each.kind, each.name, each.before, each.after) for each in incident.differences]
    assert told == [("package", "numpy", "2.3.0", "2.4.0"), ("driver", "nvidia", None, "580.1")]


def test_a_branch_of_which_no_commit_is_known_is_refused(location):
    with pytest.raises(UsageError, match="has no commit of main"):
        look(location)


def cli(capsys, *arguments):
    status = run([str(word) for word in arguments])
    return status, *capsys.readouterr()


def test_a_person_ignores_an_incident_and_takes_it_back(location, capsys):
    give(location, *commits(11), *broken("kernels", 8, 11))
    here = ("--warehouse", location)
    status, out, _ = cli(capsys, "incidents", "update", "--dry-run", *here)
    assert (status, out.count(" open ")) == (0, 1)
    assert cli(capsys, "incidents", "update", *here)[0] == 0
    status, out, _ = cli(capsys, "incidents", "--json", *here)
    (opened,) = json.loads(out)["open"]
    short = opened["id"][:8]
    status, out, _ = cli(capsys, "incidents", "show", short, *here)
    assert "suspects    1, oldest first" in out
    words = ("incidents", "ignore", short, "--reason", "known, see the tracker", *here)
    assert cli(capsys, *words)[0] == 0
    status, out, _ = cli(capsys, "incidents", *here)
    assert "no open incident" in out
    assert "ignored\n" in out
    assert cli(capsys, "incidents", "update", *here)[1] == ""
    assert cli(capsys, *words, "--reopen")[0] == 0
    assert opened["id"] in cli(capsys, "incidents", *here)[1].split("ended")[0]


def test_a_failure_of_a_pull_request_is_judged_by_what_its_branch_showed(location, capsys):
    give(location, *commits(11), *broken("kernels", 8, 11), *broken("models", 11, 11))
    here = ("incidents", "whose", "--pull-request", 5, "--warehouse", location)
    same = ("--job", "kernels", "--signature", "test_regression in kernels")
    status, out, _ = cli(capsys, *here, *same, "--json")
    assert (status, json.loads(out)["whose"]) == (0, "of-the-branch")
    status, out, _ = cli(capsys, *here, "--job", "models", "--test", "tests/a.py::t")
    assert out == "its-own: the branch never failed in this way\n"
    status, _, err = cli(capsys, *here, "--job", "models")
    assert (status, "nothing says what failed" in err) == (2, True)


def test_an_incident_that_nobody_knows_is_an_error_that_names_the_known(location, capsys):
    give(location, *commits(11), *broken("kernels", 8, 11))
    cli(capsys, "incidents", "update", "--warehouse", location)
    status, _, err = cli(
        capsys, "incidents", "ignore", "inc-zz", "--reason", "x", "--warehouse", location
    )
    assert status == 2
    assert "unknown incident 'inc-zz'" in err
    assert "Known: inc-" in err


def test_an_environment_that_is_no_list_of_packages_is_refused(location, tmp_path, capsys):
    job = "5a3c1f7e-0000-4000-8000-000000000001"
    file = tmp_path / "env.json"
    file.write_text('{"package": {"numpy": "1"}}')
    words = ("ingest", "environment", file, "--job-id", job, "--warehouse", location)
    status, _, err = cli(capsys, *words)
    assert status == 2
    assert "package: Extra inputs are not permitted" in err
    assert "packages, images, drivers, variables, released" in err
    file.write_text("numpy==1.0\nwhat is this\n")
    status, _, err = cli(capsys, *words)
    assert status == 5
    assert "env.json:2: no pinned package: 'what is this'" in err
