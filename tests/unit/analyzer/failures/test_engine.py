"""Which line decides: the best rule's last, not what passing tests print or what only sums up."""

import gzip
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.analyzer.failures.engine import scan
from gauntlet.analyzer.failures.evidence import Evidence, classify
from gauntlet.analyzer.failures.rules import load_rules
from gauntlet.analyzer.failures.text import log_line

RULES = load_rules()
SESSION = "============ test session starts ============"
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."


def told(*lines, **changes):
    return classify(Evidence(scan=scan(["\n".join(lines).encode()], RULES), **changes))


@pytest.mark.parametrize(
    ("lines", "failure_class", "line"),
    [
        pytest.param(
            [SESSION, "t/a.py::test_out_of_memory PASSED", "t/a.py::test_b FAILED"],
            "test_regression", 3, id="a-test-that-is-named-like-a-failure",
        ),
        pytest.param(
            [SESSION, "t/a.py::test_expects_oom", OOM, "PASSED", "FAILED t/a.py::test_b"],
            "test_regression", 5, id="what-a-passing-test-prints",
        ),
        pytest.param(
            [SESSION, "t/a.py::test_a", OOM, "FAILED", "FAILED t/a.py::test_a - RuntimeError"],
            "infra_capacity", 3, id="what-a-failing-test-prints",
        ),
        pytest.param(
            ["==== PASSES ====", OOM, "==== short test summary info ====", "FAILED t/a.py::test_b"],
            "test_regression", 4, id="captured-output-of-a-passed-test",
        ),
        pytest.param(
            ["    raise RuntimeError('CUDA out of memory')", "ValueError: shapes differ"],
            "test_regression", 2, id="a-line-of-code",
        ),
        pytest.param(
            ["+ echo 'No space left on device'", "Error: the gate was closed"],
            "unknown", 2, id="a-command-that-is-shown",
        ),
        pytest.param(
            ["FAILED t/a.py::test_b - KeyError", "Process completed with exit code 1."],
            "test_regression", 1, id="a-wrapper-comes-last",
        ),
        pytest.param(
            ["curl: (28) Timed out after 30001 ms", "FAILED t/a.py::test_b", "curl: (6) No"],
            "infra_network", 1, id="the-first-of-the-best-rule",
        ),
        pytest.param(
            ["(EngineCore_0 pid=7) ERROR 01-02 03:04:05 [core.py:7] ValueError: no such layer",
             "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause"],
            "test_regression", 1, id="the-root-among-interleaved-processes",
        ),
        pytest.param(
            ["[rank0]: ValueError: a", "[rank1]: torch.OutOfMemoryError: CUDA out of memory."],
            "infra_capacity", 2, id="ranks",
        ),
        pytest.param(
            ["engine-1  | ModuleNotFoundError: No module named 'tiktoken'"],
            "dependency", 1, id="docker-compose",
        ),
        pytest.param(
            ["\x1b_bk;t=1750000000000\x07\x1b[31mE: Unable to locate package\x1b[0m libfoo"],
            "dependency", 1, id="buildkite-times-and-colours",
        ),
        pytest.param(
            ["12%\r99%\rE: Unable to locate package libfoo"], "dependency", 1, id="progress",
        ),
        pytest.param(
            ["\x1b[31mFAILED\x1b[0m tests/a.py::\x1b[1mtest_b\x1b[0m - KeyError: 'x'"],
            "test_regression", 1, id="pytest-in-colour",
        ),
        pytest.param(
            ["\x1b[36;1mecho 'disk is full'\x1b[0m", "##[error]The operation was canceled."],
            "cancelled", 2, id="the-script-of-a-step",
        ),
        # C65: fewer slices than were asked for is the machine's fault.
        pytest.param(
            ["pre-flight: expected 10 MIG devices (3g.40gb), found 7"],
            "infra_machine", 1, id="C65",
        ),
        # C67: an image that cannot be pulled says so itself.
        pytest.param(
            ["The following container failed to start: container-0: ErrImagePull"],
            "infra_network", 1, id="C67",
        ),
    ],
)  # fmt: skip
def test_the_line_that_decides(lines, failure_class, line):
    found = told(*lines)
    assert (found.failure_class, found.line) == (failure_class, line)


TRACEBACK = "Traceback (most recent call last):"
CAUSE = "The above exception was the direct cause of the following exception:"
COLLECTING = "________ ERROR collecting t/test_a.py ________"
SUMMARY = "======= short test summary info ======="


@pytest.mark.parametrize(
    ("lines", "failure_class", "line"),
    [
        pytest.param(
            ["a.cpp:3:1: error: 'x' was not declared", "a.cpp:9:1: error: no match for 'y'"],
            "build_regression", 1, id="what-follows-from-the-first-error",
        ),
        pytest.param(
            ["FAILED: a.o", "a.cpp:3:1: error: no type 'x'",
             "FAILED: b.o", "b.cpp:4:1: error: no type 'y'", "b.cpp:5:1: error: no type 'z'"],
            "build_regression", 4, id="the-last-target-that-failed",
        ),
        pytest.param(
            ["curl: (28) Timed out", "Retrying in 5 s", "curl: (28) Timed out", "curl: (6) x"],
            "infra_network", 3, id="the-last-attempt",
        ),
        pytest.param(
            ["curl: (28) Timed out", "Successfully installed a-1.0", "FAILED t/a.py::test_b"],
            "test_regression", 3, id="what-another-try-got-right",
        ),
        pytest.param(
            ["curl: (28) Timed out", "Successfully installed a-1.0"],
            "infra_network", 1, id="nothing-failed-later",
        ),
        pytest.param(
            ["WARNING: a.whl: No space left on device", "FAILED t/a.py::test_b"],
            "test_regression", 2, id="a-warning",
        ),
        pytest.param(
            [TRACEBACK, "requests.exceptions.HTTPError: 503 for url: https://huggingface.co/m",
             CAUSE, TRACEBACK, "OSError: We couldn't connect to 'https://huggingface.co'"],
            "upstream_hub", 5, id="the-end-of-a-chain",
        ),
        pytest.param(
            [TRACEBACK, "OSError: We couldn't connect to 'https://huggingface.co'",
             TRACEBACK, "ValueError: no weights"],
            "upstream_hub", 2, id="no-chain",
        ),
        pytest.param(
            ["==== ERRORS ====", COLLECTING, "E   ImportError: cannot import name 'a' from 'b'",
             SUMMARY, "ERROR t/test_a.py"],
            "test_regression", 3, id="why-tests-could-not-be-collected",
        ),
        pytest.param(
            ["==== ERRORS ====", COLLECTING, "E   ModuleNotFoundError: No module named 'numba'",
             SUMMARY, "ERROR t/test_a.py"],
            "dependency", 3, id="a-package-that-tests-lack",
        ),
        pytest.param(
            [SUMMARY, "FAILED t/a.py::test_b - AssertionError: accuracy 0.41 is below 0.6"],
            "accuracy_regression", 2, id="the-reason-in-a-verdict",
        ),
        pytest.param(
            ["E   torch.OutOfMemoryError: CUDA out of memory.", SUMMARY,
             "FAILED t/a.py::test_b - torch.OutOfMemoryError: CUDA out of memory."],
            "infra_capacity", 1, id="the-reason-where-it-happened",
        ),
        pytest.param(
            [SESSION, "t/a.py::test_b Fatal Python error: Segmentation fault"],
            "test_regression", 2, id="what-a-running-test-prints-first",
        ),
        pytest.param(
            ["#7 9.1 Select a licence [1]:", "#7 9.2", "------",
             "Dockerfile:4", "--------------------", "   4 | >>> RUN ./setup",
             'ERROR: failed to solve: process "/bin/sh -c ./setup" did not complete'],
            "image_build", 1, id="what-a-step-said-last",
        ),
        pytest.param(
            ["make: *** [Makefile:3: suite] Error 2"], "unknown", 1, id="make-runs-anything",
        ),
        pytest.param(
            ["make: *** [Makefile:3: pool.o] Error 1"], "build_regression", 1, id="make-compiles",
        ),
        pytest.param(
            ["##[error]Process completed with exit code 137."], "infra_capacity", 1, id="killed",
        ),
        pytest.param(
            ["make: *** [Makefile:9: pool.o] Interrupt"], "cancelled", 1, id="interrupted",
        ),
    ],
)  # fmt: skip
def test_the_line_that_decides_among_many(lines, failure_class, line):
    found = told(*lines)
    assert (found.failure_class, found.line) == (failure_class, line)


@pytest.mark.parametrize(
    ("lines", "failure_class", "line"),
    [
        pytest.param(
            [SESSION, "t/a.py::test_b RERUN", "t/a.py::test_b PASSED [ 50%]",
             "==== 2 passed, 1 rerun in 0.10s ===="],
            "flaky", 3, id="rerun",
        ),
        pytest.param(
            [SESSION, ".R.", "==== 2 passed, 1 rerun in 0.10s ===="], "flaky", 3, id="dots",
        ),
        pytest.param(
            ["test_b failed (1 runs remaining out of 2).", "test_c passed 1 out of the required 1",
             "test_b passed 1 out of the required 1 times. Success!"],
            "flaky", 3, id="a-plugin",
        ),
        pytest.param(
            [SESSION, "t/a.py::test_b RERUN", "t/a.py::test_b PASSED [ 50%]",
             "t/a.py::test_c FAILED [100%]", "==== 1 failed, 1 passed, 1 rerun in 0.10s ===="],
            "test_regression", 4, id="another-failed",
        ),
        pytest.param(
            ["//a:b    FLAKY, failed in 1 out of 2 in 0.1s", "No space left on device"],
            "infra_capacity", 2, id="something-else-failed",
        ),
    ],
)  # fmt: skip
def test_a_test_that_passed_when_it_ran_again_is_flaky(lines, failure_class, line):
    found = told(*lines)
    assert (found.failure_class, found.line) == (failure_class, line)


def test_a_test_that_failed_and_passed_later_does_not_decide():
    found = scan(
        [b"t/a.py::test_b FAILED\nFAILED t/a.py::test_b - KeyError\nt/a.py::test_b PASSED [ 9%]\n"],
        RULES,
    )
    assert found.failed_tests == ()
    assert found.forgiven == ("t/a.py::test_b",)


def test_the_first_line_counts_where_a_rule_says_so():
    found = told(
        "Error: pod failed to come online with error: Pod a-b is Pending",
        "FATAL: Error: pod failed to come online with error: Pod a-b is Pending",
    )
    assert (found.rule, found.line) == ("pod_not_online", 1)


LOG = "\n".join(
    [
        *(f"step {n} of 900 took {n} ms" for n in range(900)),
        "FAILED t/a.py::test_b - KeyError",
        "end",
    ]
).encode()


@given(st.lists(st.integers(0, len(LOG)), max_size=20))
def test_a_log_says_the_same_in_any_pieces(cuts):
    places = [0, *sorted(cuts), len(LOG)]
    pieces = [LOG[a:b] for a, b in pairwise(places)]
    found = scan(pieces, RULES)
    assert (found.findings[0].line.number, found.lines) == (901, 902)


def test_a_compressed_log_is_unpacked():
    assert scan([gzip.compress(LOG)], RULES).findings[0].line.number == 901


def test_a_cut_log_says_so():
    found = classify(Evidence(scan=scan([gzip.compress(LOG)[:-20]], RULES)))
    assert "the log is cut" in found.reasons[-1]


@given(st.binary(max_size=3000))
def test_any_bytes_can_be_read(data):
    data = b"x" + data  # what begins as gzip does is unpacked
    found = scan([data], RULES)
    assert found.lines == data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    assert log_line(1, data) is None or len(log_line(1, data).text) <= 4100


def test_a_line_without_end_is_kept_bounded():
    found = scan([b"x" * (1 << 20), b" No space left on device\n", b"after\n"], RULES)
    assert found.findings[0].rule.name == "disk_full"
    assert found.lines == 2
    assert len(found.findings[0].line.text) < 5000
