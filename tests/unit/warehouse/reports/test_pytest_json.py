import gzip
import json
import subprocess
import sys
from datetime import UTC, datetime
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.warehouse.reports.documents import NOW, outcomes, reasons

from gauntlet.warehouse.reports.pytest_json import parse_pytest_json
from gauntlet.warehouse.reports.report import Limits, UnreadableReportError

START = 1782900000.0  # 2026-07-01 10:00 UTC


def read(value, **options):
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return parse_pytest_json([data], origin="report.json", now=NOW, **options)


def log(*lines):
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def phase(when, outcome="passed", nodeid="a.py::t", **more):
    return {
        "$report_type": "TestReport",
        "nodeid": nodeid,
        "location": [nodeid.partition("::")[0], 3, "t"],
        "when": when,
        "outcome": outcome,
        "longrepr": None,
        "duration": 0.25,
        "start": START,
        **more,
    }


def phases(*outcomes, nodeid="a.py::t", **of_call):
    names = ("setup", "call", "teardown")
    return [
        phase(name, outcome, nodeid, **(of_call if name == "call" else {}))
        for name, outcome in zip(names, outcomes, strict=True)
        if outcome
    ]


def entry(outcome="passed", nodeid="a.py::t", **changes):
    done = {"outcome": "passed", "duration": 0.25}
    return {
        "nodeid": nodeid, "outcome": outcome, "lineno": 3,
        "setup": done, "call": done, "teardown": done, **changes,
    }  # fmt: skip


def whole(*tests, collectors=(), **changes):
    return {
        "created": START + 10, "duration": 10.0, "summary": {"total": len(tests)},
        "tests": list(tests), "collectors": list(collectors), **changes,
    }  # fmt: skip


def test_the_sample_of_pytest_json_report(shared):
    path = shared / "data/samples/pytest_json/pytest-json-report_sample.json"
    report = parse_pytest_json([path.read_bytes()])
    assert outcomes(report) == {
        f"test_create_report.py::{name}": outcome
        for name, outcome in {
            "test_pass": "passed",
            "test_fail_with_fixture": "failed",
            "test_xfail": "xfailed",
            "test_xfail_but_passing": "xpassed",
            "test_fail_during_setup": "error",
            "test_fail_during_teardown": "error",
            "test_skip": "skipped",
            "test_fail_nested": "failed",
            "test_parametrized[1]": "passed",
            "test_parametrized[2]": "failed",
        }.items()
    }
    assert report.problems == []
    assert report.durations_ms[0] == pytest.approx(0.136375 + 0.107050 + 0.498294, rel=1e-4)
    assert report.started_at == datetime(2019, 1, 22, 19, 25, 51, 215056, tzinfo=UTC)
    said = {report.nodeids[d.index].partition("::")[2]: d for d in report.details}
    assert said["test_skip"].message == "testing skip"
    assert said["test_fail_nested"].message.startswith("TypeError: unsupported operand")
    assert "setup_teardown_fixture = None" in said["test_fail_with_fixture"].text
    assert said["test_fail_with_fixture"].text.endswith("teardown\n\nteardownerr")
    assert said["test_fail_with_fixture"].line == 28


@pytest.mark.parametrize(
    ("lines", "outcome"),
    [
        (phases("passed", "passed", "passed"), "passed"),
        (phases("passed", "failed", "passed"), "failed"),
        (phases("failed", None, "passed"), "error"),
        (phases("passed", "passed", "failed"), "error"),
        (phases("passed", "failed", "failed"), "error"),
        (phases("skipped", None, "passed"), "skipped"),
        (phases("passed", "skipped", "passed"), "skipped"),
        (phases("passed", "skipped", "passed", wasxfail="reason: known"), "xfailed"),
        (phases("passed", "passed", "passed", wasxfail="known"), "xpassed"),
        ([phase("???", "failed")], "error"),
        ([*phases("passed", "passed", None), phase("???", "failed")], "error"),
    ],
)
def test_the_phases_of_a_test_are_one_row(lines, outcome):
    report = read(log(*lines))
    assert outcomes(report) == {"a.py::t": outcome}
    assert report.durations_ms[0] == 250 * len(lines)
    assert report.started_at == datetime(2026, 7, 1, 10, tzinfo=UTC)


def test_tests_of_several_workers_may_be_open_at_once():
    one, other = phases("passed", "failed", "passed"), phases("passed", "passed", "passed")
    other = [line | {"nodeid": "b.py::t"} for line in other]
    report = read(log(*(line for pair in zip(one, other, strict=True) for line in pair)))
    assert outcomes(report) == {"a.py::t": "failed", "b.py::t": "passed"}


def test_a_rerun_is_an_earlier_occurrence_that_failed():
    again = [phase("setup"), phase("call", "rerun")]
    report = read(log(*again, *again, *phases("passed", "passed", "passed")))
    assert outcomes(report) == {"a.py::t": ["failed", "failed", "passed"]}
    assert report.occurrences.tolist() == [0, 1, 2]
    report = read(whole(entry("rerun")))
    assert outcomes(report) == {"a.py::t": ["failed", "passed"]}
    np.testing.assert_array_equal(report.durations_ms, np.float32([np.nan, 750]))


def test_a_subtest_that_failed_fails_its_test_and_says_why():
    sub = phase("call", "failed", longrepr={"reprcrash": {"message": "assert 0"}})
    del sub["$report_type"]
    sub["_report_type"] = "SubTestReport"
    setup, call, teardown = phases("passed", "passed", "passed")
    report = read(log(setup, sub | {"outcome": "passed"}, sub, call, teardown))
    assert outcomes(report) == {"a.py::t": "failed"}
    assert report.durations_ms.tolist() == [750]
    assert report.details[0].message == "assert 0"


@pytest.mark.parametrize(
    ("lines", "kept"),
    [
        ([phase("setup")], None),
        ([phase("setup"), phase("call")], None),
        ([phase("setup"), phase("call", "skipped")], None),
        ([phase("setup"), phase("call", "failed")], "failed"),
        ([phase("setup", "failed")], "error"),
    ],
)
def test_a_test_that_a_killed_run_was_in_counts_only_where_it_had_failed(lines, kept):
    report = read(log(*phases("passed", "passed", "passed", nodeid="b.py::t"), *lines))
    assert outcomes(report) == {"b.py::t": "passed"} | ({"a.py::t": kept} if kept else {})
    assert len(report.problems) == (kept is None)
    assert all("the run ended inside the test" in reason for reason in reasons(report))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"call": None, "teardown": None}, "phases: there are only setup; the run ended"),
        ({"call": {"outcome": "passed", "duration": -1}}, "call.duration: -1.0 is negative"),
        ({"setup": {"outcome": "passed", "duration": 1e9}}, "setup.duration: 1000000000.0 is lo"),
        ({"call": {"outcome": "passed", "duration": "x"}}, "call.duration: Input should be a val"),
        ({"call": {"duration": 1}}, "call.outcome: Field required"),
        ({"outcome": "weird"}, "outcome: 'weird' is none of passed, failed"),
        ({"nodeid": " "}, "nodeid: ' ' names no test"),
        ({"nodeid": None}, "nodeid: Input should be a valid string"),
    ],
)
def test_tests_that_cannot_be_stored_are_refused_with_their_place(changes, reason):
    report = read(whole(entry(nodeid="b.py::t"), entry(**changes)))
    assert report.nodeids == ["b.py::t"]
    (problem,) = report.problems
    assert problem.position == "tests[1]"
    assert problem.reasons[0].startswith(reason)
    assert problem.raw.startswith('{"nodeid"')


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.5])
def test_impossible_durations_of_a_log_are_refused(value):
    report = read(log(*phases("passed", "passed", "passed", duration=value)))
    assert report.nodeids == []
    assert reasons(report)[0].startswith(f"call.duration: {value} is ")


def test_what_could_not_be_collected_is_a_case_with_an_error():
    failed = {"nodeid": "tests/b.py", "outcome": "failed", "longrepr": "x\nE   ImportError: no"}
    fine = {"nodeid": "tests/c.py", "outcome": "passed", "result": []}
    lines = log(*({"$report_type": "CollectReport", **item} for item in (failed, fine)))
    for report in (read(whole(collectors=[failed, fine])), read(lines)):
        assert outcomes(report) == {"tests/b.py": "error"}
        assert report.details[0].message == "ImportError: no"
        assert np.isnan(report.durations_ms[0])


def test_a_file_that_was_skipped_as_a_whole_is_a_case():
    said = "('tests/b.py', 3, 'Skipped: no GPU')"
    listed = ["tests/b.py", 3, "Skipped: no GPU"]
    for longrepr in (said, listed):
        skipped = {"nodeid": "tests/b.py", "outcome": "skipped", "longrepr": longrepr}
        report = read(whole(collectors=[skipped]))
        assert outcomes(report) == {"tests/b.py": "skipped"}
        assert report.details[0].message == "no GPU"


def test_a_collection_that_failed_as_a_whole_is_refused():
    report = read(whole(collectors=[{"nodeid": "", "outcome": "failed"}]))
    assert reasons(report) == ["nodeid: the collection as a whole failed"]


def test_a_summary_without_its_tests_is_refused():
    report = read({"summary": {"total": 7}})
    assert reasons(report) == ["summary.total: says 7, but there are no tests"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"created": 4e9}, "created: 2096-10-02"),
        ({"created": 1e300}, "created: 1e+300 is no time"),
        ({"created": 3.0}, "created: 1969-12-31"),
    ],
)
def test_a_time_that_cannot_be_is_refused_and_the_tests_stay(changes, reason):
    report = read(whole(entry(), **changes))
    assert (report.started_at, report.counts()) == (None, {"passed": 1})
    assert reasons(report)[0].startswith(reason)


def test_lines_that_cannot_be_read_are_refused_and_the_others_stay():
    good = log(*phases("passed", "passed", "passed"))
    data = b"\n" + good + b'{"nodeid": "b"\n[1]\n' + log({"$report_type": "New"}) + good[:60]
    report = read(data)
    assert outcomes(report) == {"a.py::t": "passed"}
    assert [problem.position for problem in report.problems] == ["line 5", "line 6", "line 8"]
    assert reasons(report)[1] == "JSON: expected an object, found list"


def test_lone_surrogates_are_replaced_and_counted():
    data = log(*phases("passed", "failed", "passed", longrepr="bad \udc80 \ud83d\ude00"))
    report = read(data)
    assert report.details[0].text == "bad \ufffd \U0001f600"
    assert report.repaired == 1
    report = read(json.dumps(whole(entry(nodeid="é"))).encode("utf-8").replace(b"\\u00e9", b"\xe9"))
    assert (report.nodeids, report.repaired) == (["\ufffd"], 1)


def test_a_line_longer_than_allowed_is_refused():
    big = phase("call", "failed", longrepr="x" * 5000)
    data = log(*phases("passed", "passed", "passed"), big)
    report = read(data, limits=Limits(document=3000))
    assert outcomes(report) == {"a.py::t": "passed"}
    assert report.problems[0].position == "line 4"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty"),
        (b"\n \n", "empty"),
        (b"{", "JSON: Expecting property name"),
        (b'{"summary": {"total": 1}, "tests": [{"node', "JSON: Unterminated string"),
        (b'{"some": "other"}', "there is no key 'summary'"),
        (b"[]", "expected an object, found list"),
        (b"<testsuites/>", "JSON: Expecting value"),
        (b'{"$report_type": "TestRep', "no line of it can be read"),
        (b"[" * 100_000, "JSON: "),
        (b"\x1f\x8b\x08broken", "gzip"),
        (json.dumps(whole(*[entry()] * 99)).encode(), "longer than 9000 bytes"),
    ],
)
def test_what_is_no_pytest_json_is_an_error_that_says_why(data, message):
    with pytest.raises(UnreadableReportError, match=message) as caught:
        read(data, limits=Limits(document=9000 if b"a.py" in data else 1 << 20))
    assert caught.value.hint


@settings(max_examples=60, deadline=None)
@given(
    found=st.lists(
        st.tuples(
            st.sampled_from(["a.py::t", "b.py::t"]),
            st.sampled_from(["setup", "call", "teardown", "???"]),
            st.sampled_from(["passed", "failed", "skipped", "rerun", "odd"]),
        ),
        max_size=12,
    ),
    cuts=st.lists(st.integers(0, 3000), max_size=8),
)
def test_a_log_is_the_same_in_any_pieces_and_packed(found, cuts):
    data = log({"$report_type": "SessionStart"}, *(phase(w, o, n) for n, w, o in found))
    report = read(data)
    edges = sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})
    pieces = [data[a:b] for a, b in pairwise(edges)]
    assert parse_pytest_json(pieces, origin="report.json", now=NOW) == report
    assert read(gzip.compress(data)) == report
    # Nothing is lost: what opened a test is in a row or in a problem.
    named = {nodeid for nodeid, _, _ in found}
    told = {*report.nodeids, *(n for p in report.problems for n in named if n in p.raw)}
    assert named <= told


SUITE = """
import pytest
def test_pass(): pass
def test_fail(): assert 1 == 2
def test_skip(): pytest.skip("why not")
@pytest.mark.xfail(reason="known")
def test_xfail(): assert 0
@pytest.mark.xfail(reason="known")
def test_xpass(): pass
@pytest.fixture
def bad(): 1 / 0
def test_setup(bad): pass
"""
# What pytest-reportlog does, in a few lines: one serialised report a line.
CONFTEST = """
import json
class Log:
    def __init__(self, config):
        self.config, self.file = config, open("log.jsonl", "w")
    def write(self, report):
        hook = self.config.hook.pytest_report_to_serializable
        self.file.write(json.dumps(hook(config=self.config, report=report)) + "\\n")
        self.file.flush()
    def pytest_runtest_logreport(self, report): self.write(report)
    def pytest_collectreport(self, report): self.write(report)
def pytest_cmdline_main(config): config.pluginmanager.register(Log(config))
"""


def test_what_the_installed_pytest_serialises_is_read(tmp_path):
    (tmp_path / "test_a.py").write_text(SUITE, encoding="utf-8")
    (tmp_path / "test_b.py").write_text("import no_such_module_anywhere\n", encoding="utf-8")
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir=."]
    argv += ["--continue-on-collection-errors", "-c", "/dev/null"]
    subprocess.run(argv, cwd=tmp_path, capture_output=True, check=False)
    report = parse_pytest_json([(tmp_path / "log.jsonl").read_bytes()])
    assert report.problems == []
    assert outcomes(report) == {
        "test_b.py": "error",
        "test_a.py::test_pass": "passed",
        "test_a.py::test_fail": "failed",
        "test_a.py::test_skip": "skipped",
        "test_a.py::test_xfail": "xfailed",
        "test_a.py::test_xpass": "xpassed",
        "test_a.py::test_setup": "error",
    }
    said = {report.nodeids[d.index]: d for d in report.details}
    assert said["test_a.py::test_fail"].message == "assert 1 == 2"
    assert said["test_a.py::test_fail"].text.endswith("test_a.py:4: AssertionError")
    assert said["test_a.py::test_skip"].message == "why not"
    assert "ModuleNotFoundError" in said["test_b.py"].message
