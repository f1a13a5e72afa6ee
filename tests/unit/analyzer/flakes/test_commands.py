"""``gauntlet flakes`` and ``gauntlet quarantine`` over a small warehouse."""

import json
from datetime import timedelta
from uuid import uuid5

import pytest
from click.testing import CliRunner
from factories import NAMESPACE, batch, commit_row, sha_of
from stores import served_folder

from gauntlet.analyzer.flakes_command import flakes
from gauntlet.analyzer.quarantine_command import quarantine
from gauntlet.core.clock import utc_now
from gauntlet.core.errors import ConfigError, UsageError
from gauntlet.warehouse.store import open_store

RUNS = 60
TESTS = {
    1: ("t.py::flaky", "....F" * 12),
    2: ("t.py::broken", "." * 56 + "FFFF"),
    3: ("t.py::green", "." * 60),
    4: ("t.py::excused", "...X" * 15),
}
WORDS = {".": "passed", "F": "failed", "X": "xfailed"}


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory):
    with served_folder(tmp_path_factory.mktemp("flakes") / "warehouse") as location:
        begin = utc_now() - timedelta(days=3)
        with open_store(location) as store:
            store.insert(batch("commits", *(commit_row(n) for n in range(1, RUNS + 1))))
            results, details = [], []
            for test_id, (_, text) in TESTS.items():
                for run, mark in enumerate(text, start=1):
                    at = f"{begin + timedelta(hours=run):%Y-%m-%d %H:%M:%S}"
                    job = uuid5(NAMESPACE, f"flakes {run}")
                    results.append(
                        f"({test_id}, '{job}', 0, '{WORDS[mark]}', 5, '{sha_of(run)}', 'main',"
                        f" 'engine', 'gpu', '{at}', 7)"
                    )
                    if mark != ".":
                        said = "quarantined: races (owner ann)" if mark == "X" else "assert 0"
                        details.append(
                            f"({test_id}, '{job}', 0, '{WORDS[mark]}', '{said}', '', 't.py', 3,"
                            f" '{at}', 7)"
                        )
            names = ", ".join(
                f"({number}, 'engine', '{name}', 't.py', 7)" for number, (name, _) in TESTS.items()
            )
            store.command(f"INSERT INTO tests VALUES {names}")
            store.command(f"INSERT INTO test_results VALUES {', '.join(results)}")
            store.command(f"INSERT INTO test_details VALUES {', '.join(details)}")
        yield location


def run(command, warehouse, *arguments):
    found = CliRunner().invoke(command, [*arguments, "--warehouse", warehouse])
    if found.exception and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found


def add(warehouse, subject, *arguments):
    return run(
        quarantine, warehouse, "add", subject, "--owner", "ann", "--reason", "races", *arguments
    )


def test_breaks_and_flakes_are_shown_with_their_numbers(warehouse):
    shown = {row["nodeid"]: row for row in json.loads(run(flakes, warehouse, "--json").stdout)}
    assert set(shown) == {"t.py::flaky", "t.py::broken", "t.py::excused"}
    broken, flaky = shown["t.py::broken"], shown["t.py::flaky"]
    assert (broken["state"], broken["since"]) == ("broken", sha_of(57))
    assert broken["last_good"] == sha_of(56)
    assert flaky["state"] == "flaky"
    assert flaky["rate_low"] < 0.2 < flaky["rate_high"]
    assert shown["t.py::excused"]["failures"] == 15
    lines = run(flakes, warehouse).stdout
    assert lines.startswith("broken  test/t.py::broken")


def test_a_quarantine_from_its_beginning_to_its_end(warehouse, tmp_path):
    subject = "test/t.py::flaky"
    assert "clean runs in a row" in add(warehouse, subject, "--dry-run").stdout
    assert "nothing is in quarantine" in run(quarantine, warehouse, "list").stdout
    add(warehouse, subject)
    (listed,) = json.loads(run(quarantine, warehouse, "list", "--json").stdout)
    assert (listed["subject"], listed["owner"], listed["expired"]) == (subject, "ann", False)
    with pytest.raises(UsageError, match="in quarantine already"):
        add(warehouse, subject)
    run(quarantine, warehouse, "export", str(tmp_path / "q.json"))
    told = json.loads((tmp_path / "q.json").read_text())
    assert [entry["nodeid"] for entry in told["entries"]] == ["t.py::flaky"]
    assert json.loads(run(quarantine, warehouse, "export").stdout)["entries"] == told["entries"]
    (checked,) = json.loads(run(quarantine, warehouse, "check", "--json").stdout)
    assert checked["outcome"] == "kept"
    by_name = {row["nodeid"]: row for row in json.loads(run(flakes, warehouse, "--json").stdout)}
    assert by_name["t.py::flaky"]["quarantined"] is True
    run(quarantine, warehouse, "release", subject, "--reason", "repaired")
    assert "nothing is in quarantine" in run(quarantine, warehouse, "list").stdout
    with pytest.raises(UsageError, match="is not in quarantine"):
        run(quarantine, warehouse, "release", subject, "--reason", "again")


@pytest.mark.parametrize(
    ("subject", "arguments", "says"),
    [
        pytest.param("test/t.py::broken", [], "is broken, not flaky", id="break"),
        pytest.param("test/t.py::green", [], "did not fail", id="green"),
        pytest.param("test/t.py::absent", [], "no run of it", id="absent"),
        pytest.param("t.py::flaky", [], "neither a test nor a job", id="no-kind"),
        pytest.param("test/", [], "neither a test nor a job", id="no-name"),
        pytest.param("test/t.py::flaky", ["--owner", " "], "--owner is empty", id="no-owner"),
    ],
)
def test_what_may_not_be_quarantined_is_refused(warehouse, subject, arguments, says):
    with pytest.raises(UsageError, match=says):
        add(warehouse, subject, *arguments)


def test_a_release_blocker_is_refused_by_the_list(warehouse, tmp_path):
    listed = tmp_path / "blockers.yaml"
    listed.write_text("tests: [t.py::flaky]\n")
    with pytest.raises(UsageError, match="blocks a release"):
        add(warehouse, "test/t.py::flaky", "--blockers", str(listed))
    listed.write_text("test: [t.py::flaky]\n")
    with pytest.raises(ConfigError, match="did you mean 'tests'"):
        add(warehouse, "test/t.py::flaky", "--blockers", str(listed))


def test_order_needs_a_suite_that_has_the_test(tmp_path):
    (tmp_path / "suite").write_text("t.py::a\n\n2 tests collected\n")
    found = CliRunner().invoke(flakes, ["order", "t.py::b", "--suite", str(tmp_path / "suite")])
    assert "not in the suite of 1 tests" in str(found.exception)
