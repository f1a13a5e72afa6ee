"""Evidence in its order: agent, exit, rule, report, novelty, breadth; and exit codes that lie."""

import pytest

from gauntlet.analyzer.failures.engine import scan
from gauntlet.analyzer.failures.evidence import Evidence, classify, signal_of, with_breadth
from gauntlet.analyzer.failures.model import Circumstances
from gauntlet.analyzer.failures.novelty import GreenTemplates, Novelty, template
from gauntlet.analyzer.failures.rules import load_rules

RULES = load_rules()
FAILED = "FAILED t/a.py::test_b - KeyError: 'x'"
ONE_FAILED = "======= 1 failed, 8 passed in 3.21s ======="
ALL_PASSED = "======= 9 passed in 3.21s ======="


def judged(*lines, tests=(), elsewhere=0, green=None, **circumstances):
    found = scan(["\n".join(lines).encode()], RULES, green)
    return classify(
        Evidence(
            circumstances=Circumstances(**circumstances),
            scan=found,
            failed_tests=tests,
            elsewhere=elsewhere,
        )
    )


@pytest.mark.parametrize(
    ("lines", "circumstances", "failure_class", "source"),
    [
        pytest.param([], {"signal_reason": "agent_lost"}, "infra_agent", "agent", id="lost"),
        pytest.param(
            [FAILED],
            {"signal_reason": "agent_stop"},
            "infra_agent",
            "agent",
            id="stopped-meanwhile",
        ),
        pytest.param([FAILED], {"state": "canceled"}, "cancelled", "agent", id="cancelled"),
        pytest.param([FAILED], {"state": "timed_out"}, "timeout", "agent", id="timed-out"),
        pytest.param([], {"state": "expired"}, "infra_capacity", "agent", id="expired"),
        pytest.param(
            ["container-0: ImagePullBackOff"],
            {"state": "timed_out"},
            "infra_network",
            "rule",
            id="C67-as-a-time-out",
        ),
        pytest.param(
            ["container-0: ErrImagePull"],
            {"signal_reason": "stack_error", "exit_status": -1},
            "infra_network",
            "rule",
            id="C67",
        ),
        pytest.param(
            [FAILED, "Memory cgroup out of memory: Killed process 7 (python)"],
            {"exit_status": 137},
            "infra_capacity",
            "rule",
            id="killed-by-memory",
        ),
        pytest.param(
            [FAILED, "The runner has received a shutdown signal."],
            {"exit_status": 137},
            "infra_agent",
            "rule",
            id="killed-by-a-shutdown",
        ),
        pytest.param([FAILED], {"exit_status": 137}, "test_regression", "rule", id="killed-later"),
        pytest.param(["bye"], {"exit_status": 137}, "infra_capacity", "exit", id="killed"),
        pytest.param(["bye"], {"exit_status": 139}, "test_regression", "exit", id="crashed"),
        pytest.param(["bye"], {"exit_status": 124}, "timeout", "exit", id="124"),
        pytest.param(["bye"], {"exit_status": 127}, "dependency", "exit", id="127"),
        pytest.param(["bye"], {"exit_status": -1}, "infra_agent", "exit", id="minus-one"),
        pytest.param([FAILED], {"exit_status": 1}, "test_regression", "rule", id="rule"),
        pytest.param(["bye"], {"exit_status": 1}, "unknown", "none", id="nothing"),
    ],
)
def test_the_first_evidence_that_says_what_it_was_decides(
    lines, circumstances, failure_class, source
):
    told = judged(*lines, **circumstances)
    assert (told.failure_class, told.source) == (failure_class, source)


def test_a_test_report_decides_where_the_log_says_nothing():
    told = judged("bye", tests=["t/a.py::test_b"], exit_status=1)
    assert (told.failure_class, told.source) == ("test_regression", "report")
    assert told.signature == "test_report: t/a.py::test_b"


def test_a_stopped_agent_is_retried_apart_from_tests():
    assert judged(FAILED, signal_reason="stack_error").retryable is True
    assert judged(FAILED, exit_status=1).retryable is False


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ({"signal": "SIGKILL"}, "SIGKILL"),
        ({"signal": "kill"}, "SIGKILL"),
        ({"exit_status": 143}, "SIGTERM"),
        ({"exit_status": 255}, ""),
        ({"exit_status": 1}, ""),
        ({}, ""),
    ],
)
def test_the_signal_is_named(told, name):
    assert signal_of(Circumstances(**told)) == name


def test_a_line_that_no_green_log_has_is_shown():
    green = GreenTemplates(logs=1, templates=frozenset({template("step * took * ms")}))
    told = judged("step 4 took 8 ms", "valve 3 is shut, cannot go on", "step 5 took 1 ms",
                  exit_status=1, green=Novelty(green))  # fmt: skip
    assert (told.failure_class, told.source, told.line) == ("unknown", "novelty", 2)


def test_many_changes_with_one_signature_are_not_the_changes_fault():
    told = judged("Error: valve shut", exit_status=1, elsewhere=3)
    assert (told.failure_class, told.source) == ("infra_machine", "breadth")
    broken_main = with_breadth(judged(FAILED, exit_status=1), 5)
    assert (broken_main.failure_class, broken_main.retryable) == ("test_regression", None)
    assert "not this change" in broken_main.reasons[-1]
    assert with_breadth(judged("Error: valve shut"), 2).failure_class == "unknown"


@pytest.mark.parametrize(
    ("lines", "circumstances", "wrong"),
    [
        pytest.param([FAILED, ONE_FAILED], {"exit_status": 0}, True, id="green-with-failures"),
        pytest.param([FAILED, ONE_FAILED, ALL_PASSED], {"exit_status": 0}, True, id="masked-first"),
        pytest.param([ALL_PASSED], {"exit_status": 0}, False, id="green"),
        pytest.param(
            [FAILED, ONE_FAILED], {"exit_status": 0, "soft_failed": True}, False, id="soft-failed"
        ),
        pytest.param(
            [FAILED, ONE_FAILED, "t/a.py::test_b PASSED", ALL_PASSED],
            {"exit_status": 0},
            False,
            id="run-again-and-passed",
        ),
        pytest.param(
            [FAILED, ONE_FAILED, "FAILED before, rerunning with --lf", ALL_PASSED],
            {"exit_status": 0},
            False,
            id="said-to-be-run-again",
        ),
        pytest.param(
            ["===== 8 passed, 2 xfailed in 1.00s ====="], {"exit_status": 0}, False, id="xfail"
        ),
        pytest.param([ALL_PASSED], {"exit_status": 1}, True, id="red-without-failure"),
        pytest.param([FAILED, ONE_FAILED], {"exit_status": 1}, False, id="red"),
        pytest.param([ALL_PASSED], {"exit_status": 137}, False, id="killed-afterwards"),
        pytest.param([ALL_PASSED, "Error: bind: address already in use"], {"exit_status": 1}, False,
                     id="failed-after-the-tests"),
        pytest.param(["bye"], {"exit_status": 1}, False, id="says-nothing"),
        pytest.param([ALL_PASSED], {}, False, id="no-status"),
        pytest.param(
            ["t/a.py::test_b", "curl: (6) Could not resolve host: files.example.com",
             "FAILED", FAILED, ONE_FAILED],
            {"exit_status": 1}, True, id="the-network-told-as-failed-tests",
        ),
        pytest.param([ALL_PASSED], {"state": "canceled", "exit_status": 1}, False, id="cancelled"),
    ],
)  # fmt: skip
def test_exit_codes_that_the_log_denies(lines, circumstances, wrong):
    told = judged(*lines, **circumstances)
    assert told.wrong_exit_code is wrong
    if circumstances.get("exit_status") == 0 and not wrong:
        assert told.failure_class == "unknown"


def test_a_green_job_with_failures_is_what_its_log_says():
    told = judged(FAILED, ONE_FAILED, exit_status=0)
    assert told.failure_class == "test_regression"
    assert "exit status 0, but line 2 says" in told.reasons[-1]


def test_the_shared_logs_are_classified(shared):
    from classifying import labelled

    scored = labelled.score(shared / "data/log-classifier", RULES)
    assert len(scored) >= 25
    assert sum(each.class_right for each in scored) >= 0.95 * len(scored)
    assert sum(each.line_right for each in scored) >= 0.95 * len(scored)


def test_expected_error_lines_are_among_the_first_five(shared):
    from classifying import labelled

    folder = shared / "data/treeherder-logs"
    shown = labelled.score_error_lines(folder, RULES)
    assert sum(each.found > 0 for each in shown) >= 0.85 * len(shown)
