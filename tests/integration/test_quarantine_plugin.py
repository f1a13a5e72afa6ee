"""The pytest plugin in real sessions, and the order probe on a real suite."""

import json
import os
import sys
from pathlib import Path
from textwrap import dedent
from xml.etree import ElementTree as ET

import pytest

import gauntlet
from gauntlet.analyzer.flakes.order import probe_order
from gauntlet.analyzer.flakes.order_pytest import PytestRunner
from gauntlet.core.errors import InfrastructureError
from gauntlet.core.proc import run

PLUGIN = "gauntlet.analyzer.flakes.pytest_plugin"
PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-o", "addopts=")
# Each session starts in a fraction of the time without everything that is installed here.
QUICK = "PYTEST_DISABLE_PLUGIN_AUTOLOAD"
ROOT = str(Path(gauntlet.__file__).parents[1])


@pytest.fixture
def project(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


def write(project, **files):
    for name, text in files.items():
        (project / f"{name}.py").write_text(dedent(text))


def listed(project, *nodeids, expires_at=None, text=None):
    entries = [
        {"nodeid": nodeid, "owner": "ann", "reason": "races", "expires_at": expires_at}
        for nodeid in nodeids
    ]
    (project / "q.json").write_text(text or json.dumps({"version": 1, "entries": entries}))


def session(project, *options, file="q.json", env=None):
    chosen = ["--gauntlet-quarantine", file] if file else []
    return run(
        [*PYTEST, "-p", PLUGIN, *chosen, *options],
        timeout=120,
        cwd=project,
        check=False,
        env={**os.environ, "PYTHONPATH": ROOT, QUICK: "1", **(env or {})},
    )


SUITE = """
    import pytest

    @pytest.fixture
    def leaks():
        yield
        raise RuntimeError("own teardown")

    @pytest.mark.parametrize("size", ["small", "big"])
    def test_size(size):
        assert size == "small"

    class TestGroup:
        def test_in_class(self):
            assert 0

    def test_setup(absent):
        pass

    def test_green():
        pass

    def test_teardown(leaks):
        pass
"""
ALL = ("test_a.py::test_size[big]", "test_a.py::TestGroup", "test_a.py::test_setup",
       "test_a.py::test_teardown")  # fmt: skip


@pytest.mark.parametrize("workers", [[], ["-p", "xdist", "-n2"]], ids=["one-process", "xdist"])
def test_failures_in_quarantine_are_listed_and_do_not_fail_the_session(project, workers):
    write(project, test_a=SUITE)
    listed(project, *ALL)
    done = session(project, *workers, "--junitxml=j.xml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 xfailed" in done.stdout
    for name in ("test_size[big] (call)", "TestGroup::test_in_class (call)", "test_setup (setup)"):
        assert f"QUARANTINED test_a.py::{name} - quarantined: races (owner ann)" in done.stdout
    cases = ET.parse(project / "j.xml").getroot().iter("testcase")  # noqa: S314
    told = {
        case.get("name"): [p.get("name") for p in case.iter("property")]
        for case in cases
        if case.find("skipped") is not None
    }
    assert set(told) == {"test_size[big]", "test_in_class", "test_setup", "test_teardown"}
    assert all(names[0] == "gauntlet_quarantined" for names in told.values())


def test_what_is_not_listed_fails_as_ever(project):
    write(project, test_a=SUITE)
    listed(project, *ALL[1:])
    done = session(project)
    assert done.returncode == 1
    assert "FAILED test_a.py::test_size[big]" in done.stdout
    assert "1 failed" in done.stdout


def test_without_a_file_nothing_changes(project):
    write(project, test_a="def test_a():\n    assert 0\n")
    done = session(project, file=None)
    assert done.returncode == 1
    assert "quarantine" not in done.stdout


def test_the_environment_may_name_the_file(project):
    write(project, test_a="def test_a():\n    assert 0\n")
    listed(project, "test_a.py::test_a")
    assert session(project, file=None, env={"GAUNTLET_QUARANTINE": "q.json"}).returncode == 0


def test_an_expired_entry_has_no_effect_and_is_warned_of(project):
    write(project, test_a="def test_a():\n    assert 0\n")
    listed(project, "test_a.py::test_a", expires_at="2026-01-01T00:00:00+00:00")
    done = session(project)
    assert done.returncode == 1
    assert "WARNING: the quarantine of test_a.py::test_a ended on 2026-01-01" in done.stdout


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("{", "is not JSON", id="json"),
        pytest.param('{"version": 2, "entries": []}', "version: must be 1", id="version"),
        pytest.param('{"version": 1}', "entries: must be a list", id="no-entries"),
        pytest.param('{"version": 1, "entries": [{"nodeid": ""}]}', "nodeid", id="no-name"),
        pytest.param('{"version": 1, "entries": [{"node": "x"}]}', "must have the keys", id="key"),
        pytest.param(
            '{"version": 1, "entries": [{"nodeid": "x", "expires_at": "soon"}]}',
            "expires_at: must be an ISO time with a zone, got 'soon'",
            id="time",
        ),
    ],
)
def test_a_broken_file_is_a_usage_error(project, text, says):
    write(project, test_a="def test_a():\n    pass\n")
    listed(project, text=text)
    done = session(project)
    assert done.returncode == 4
    assert "q.json" in done.stderr
    assert says in done.stderr
    assert "gauntlet quarantine export" in done.stderr


def test_a_missing_file_is_a_usage_error(project):
    done = session(project, file="absent.json")
    assert done.returncode == 4
    assert "absent.json: cannot be read" in done.stderr


@pytest.mark.parametrize(
    ("body", "status"),
    [
        pytest.param("import os\ndef test_a():\n    os._exit(9)\n", 9, id="process-dies"),
        pytest.param("import pytest\ndef test_a():\n    pytest.exit('no', 3)\n", 3, id="exit"),
        pytest.param("def test_a():\n    raise KeyboardInterrupt\n", 2, id="interrupted"),
        pytest.param("import absent_module\ndef test_a():\n    pass\n", 2, id="collection"),
        pytest.param(
            """
            import pytest
            @pytest.fixture(scope="module")
            def shared():
                yield
                raise RuntimeError("shared")
            def test_a(shared):
                pass
            """,
            1,
            id="shared-teardown",
        ),
    ],
)
def test_what_is_more_than_one_tests_failure_is_never_hidden(project, body, status):
    write(project, test_a=body)
    listed(project, "test_a.py")
    assert session(project).returncode == status


def test_a_worker_that_dies_is_never_hidden(project):
    write(project, test_a="import os\ndef test_a():\n    os._exit(9)\n")
    listed(project, "test_a.py")
    done = session(project, "-p", "xdist", "-n1", "--max-worker-restart=0")
    assert done.returncode == 1
    assert "crashed while running" in done.stdout


ORDERED = """
    STATE = {"dirty": False, "ready": False}

    def test_sets(): STATE["ready"] = True
    def test_middle(): pass
    def test_pollutes(): STATE["dirty"] = True
    def test_victim(): assert not STATE["dirty"]
    def test_brittle(): assert STATE["ready"]
    def test_steady(): pass
"""
NAMES = ("sets", "middle", "pollutes", "victim", "brittle", "steady")


@pytest.mark.parametrize(
    ("name", "kind", "cause"),
    [
        ("victim", "victim", ("test_s.py::test_pollutes",)),
        ("brittle", "brittle", ("test_s.py::test_sets",)),
    ],
)
def test_polluter_and_setter_of_a_real_suite_are_found(project, monkeypatch, name, kind, cause):
    monkeypatch.setenv(QUICK, "1")
    write(project, test_s=ORDERED)
    suite = [f"test_s.py::test_{each}" for each in NAMES]
    found = probe_order(
        f"test_s.py::test_{name}",
        suite,
        PytestRunner(command=PYTEST, folder=project, timeout=60),
        repeats=1,
    )
    assert (found.kind, found.cause, found.complete) == (kind, cause, True)


def test_a_test_that_pytest_cannot_find_is_no_outcome(project):
    write(project, test_s=ORDERED)
    runner = PytestRunner(command=PYTEST, folder=project, timeout=60)
    with pytest.raises(InfrastructureError, match="did not run"):
        runner.last_fails(["test_s.py::test_absent"])
