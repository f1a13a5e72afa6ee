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
            "infra_network", 3, id="the-last-of-the-best-rule",
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
