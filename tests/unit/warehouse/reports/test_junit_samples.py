"""Reports that real tools wrote; each has its numbers here."""

import subprocess
import sys

import numpy as np
import pytest
from unit.warehouse.reports.documents import outcomes, read

from gauntlet.warehouse.reports.junit import parse_junit

WIDE = "헴䜝헱홐㣇㿷䔭\U0001234d\U0002185f\U00020009㦓"
EXPECTED = {
    "corrupt-xml.xml": ({"passed": 1}, ["XML: no element found", "testcase 2 (line 7) is cut"]),
    "junit.fail.xml": ({"passed": 3, "failed": 1, "skipped": 1}, []),
    "junit.gloo.standalone.xml": ({"passed": 80, "skipped": 17}, []),
    "junit.mpi.static.xml": ({"passed": 24}, []),
    "junit.multiresult.xml": ({"passed": 1, "failed": 1, "error": 1, "skipped": 1}, []),
    "junit.spark.integration.1.xml": ({"passed": 33, "skipped": 2}, []),
    "junit.spark.integration.2.xml": ({"passed": 33, "skipped": 2}, []),
    "no-cases-but-tests.xml": ({}, ["tests: says 6, but there is no testcase"]),
    "suite-logs.xml": ({"error": 1}, []),
    "unsupported-unicode.xml": ({"passed": 1, "failed": 2, "error": 2, "skipped": 2}, []),
}


@pytest.fixture
def sample(shared):
    def load(name):
        return read((shared / "data/samples/junit" / name).read_bytes())

    return load


def test_every_sample_has_its_numbers(shared, sample):
    assert {path.name for path in (shared / "data/samples/junit").iterdir()} == set(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_outcomes_and_problems_of(name, sample):
    report = sample(name)
    counts, problems = EXPECTED[name]
    assert report.counts() == counts
    found = [reason for problem in report.problems for reason in problem.reasons]
    assert len(found) == len(problems)
    assert all(reason.startswith(begin) for reason, begin in zip(found, problems, strict=True))
    assert (report.duplicates, report.repaired, report.occurrences.sum()) == (0, 0, 0)


def test_a_broken_report_says_where_it_breaks_and_what_is_lost(sample):
    report = sample("corrupt-xml.xml")
    assert report.nodeids == ["test/test_spark.py::SparkTests::test_check_shape_compatibility"]
    (problem,) = report.problems
    assert problem.position == "line 11, column 22"
    assert problem.reasons[1].endswith("::SparkTests::test_get_available_devices")
    assert 'message="get_available_devices only supported' in problem.raw


def test_several_results_of_a_case_are_one_row_of_the_worst(sample):
    report = sample("junit.multiresult.xml")
    assert outcomes(report) == {
        "test class::test that errors": "error",
        "test class::test that fails": "failed",
        "test class::test that is skipped": "skipped",
        "test class::test that succeeds": "passed",
    }
    first = report.details[0]
    assert (first.message, first.text) == ("test teardown failure", "Assertion failed\nstdout")
    np.testing.assert_array_equal(report.durations_ms, np.float32([123, 234, 345, 456]))


def test_characters_of_every_plane_stay_what_they_are(sample):
    report = sample("unsupported-unicode.xml")
    assert report.nodeids[0].startswith("test/test-1.py::test 1 헴䜝헱홐㣇㿷䔭")
    assert report.nodeids[0].endswith("㦓")
    said = [f"{d.message}|{d.text}" for d in report.details]
    assert all("헴䜝헱홐㣇㿷䔭" in text and "㦓" in text for text in said)


def test_a_log_beside_the_case_explains_its_failure(sample):
    (detail,) = sample("suite-logs.xml").details
    assert detail.message == "exited with error code 1"
    assert "ModuleNotFoundError: No module named 'non_existent_package'" in detail.text


def test_an_inherited_test_belongs_to_its_class_not_to_the_file_of_the_base(sample):
    report = sample("junit.spark.integration.1.xml")
    assert report.nodeids[0] == (
        "test/test_spark_keras.py::SparkKerasTests::test_batch_generator_fn"
    )
    assert "test.test_spark_keras.SparkKerasTests::test_session" in report.nodeids


SUITE = """
import pytest, sys
def test_pass(): print("out")
@pytest.mark.parametrize("x", [1, "a/b", "x::y", "q'<&>\\n\\x1b[31m\\x00é"])
def test_param(x): pass
class TestC:
    class TestInner:
        def test_deep(self): assert 1 == 2, '<&"\\x1b\\x00 \\x0b'
def test_skip(): pytest.skip("why not")
@pytest.mark.xfail(reason="known")
def test_xfail(): assert 0
@pytest.mark.xfail(strict=True, reason="known")
def test_xpass_strict(): pass
@pytest.fixture
def bad(): 1 / 0
@pytest.fixture
def bad_end():
    yield
    1 / 0
def test_setup(bad): pass
def test_teardown(bad_end): pass
def test_both(bad_end): assert 0
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """What the installed pytest writes, in both of its dialects."""
    folder = tmp_path_factory.mktemp("suite")
    (folder / "test_a.py").write_text(SUITE, encoding="utf-8")
    (folder / "test_b.py").write_text("import no_such_module_anywhere\n", encoding="utf-8")
    found = {}
    for family in ("xunit1", "xunit2"):
        argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir=."]
        argv += ["--continue-on-collection-errors", "-o", f"junit_family={family}"]
        argv += ["--junitxml=report.xml", "-c", "/dev/null"]
        subprocess.run(argv, cwd=folder, capture_output=True, check=False)
        found[family] = parse_junit([(folder / "report.xml").read_bytes()])
    return found


@pytest.mark.parametrize(
    ("family", "module", "nested"),
    [
        ("xunit1", "test_a.py", "test_a.py::TestC::TestInner"),
        ("xunit2", "test_a", "test_a.TestC.TestInner"),
    ],
)
def test_what_the_installed_pytest_writes_is_read(written, family, module, nested):
    report = written[family]
    assert report.problems == []
    assert report.started_at is not None
    assert outcomes(report) == {
        "test_b.py" if family == "xunit1" else "test_b": "error",
        f"{module}::test_pass": "passed",
        f"{module}::test_param[1]": "passed",
        f"{module}::test_param[a/b]": "passed",
        f"{module}::test_param[x::y]": "passed",
        rf"{module}::test_param[q'<&>\n\x1b[31m\x00\xe9]": "passed",
        f"{nested}::test_deep": "failed",
        f"{module}::test_skip": "skipped",
        f"{module}::test_xfail": "xfailed",
        f"{module}::test_xpass_strict": "failed",
        f"{module}::test_setup": "error",
        f"{module}::test_teardown": "error",
        # pytest writes a failure and an error in the teardown as two cases.
        f"{module}::test_both": ["failed", "error"],
    }
