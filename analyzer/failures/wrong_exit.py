"""Does the exit status say the same as the log? Speaks only where the log leaves no doubt."""

from collections.abc import Sequence

from gauntlet.analyzer.failures.found import Scan
from gauntlet.analyzer.failures.model import Circumstances, Classification

# So near to the end a summary of passed tests must stand to be the log's last word.
_NEAR_END = 400
_NOT_TESTS = frozenset(
    {"infra_machine", "infra_network", "infra_capacity", "infra_agent", "upstream_hub"}
)
_AGENT_REASONS = frozenset({"agent_lost", "agent_stop", "stack_error", "process_run_error"})
_CALM_STATES = frozenset({"", "passed", "failed", "finished"})
_TESTS_FAILED = 1


def wrong_exit(  # noqa: PLR0911 - one way out per doubt
    circumstances: Circumstances,
    scan: Scan | None,
    told: Classification | None,
    failed_tests: Sequence[str] = (),
) -> tuple[bool, str]:
    """Whether the exit status is wrong, and why; ``told`` is what the failure was found to be."""
    green = circumstances.exit_status == 0 and circumstances.state in ("", "passed")
    if green:
        return _green(circumstances, scan, failed_tests)
    if scan is None:
        return False, ""
    if told is not None and circumstances.signal_reason in _AGENT_REASONS:
        return False, ""
    status = circumstances.exit_status
    if status is None or status < 1 or status > 123 or circumstances.state not in _CALM_STATES:
        return False, ""
    if _ends_well(scan) and not failed_tests and (told is None or told.source != "rule"):
        return True, f"exit status {status}, but every test passed and nothing in its log failed"
    outside = told is not None and told.failure_class in _NOT_TESTS and status == _TESTS_FAILED
    if outside and scan.summaries and scan.summaries[-1].failed:
        return True, "reported as failed tests, but the cause lies outside them"
    return False, ""


def _green(  # noqa: PLR0911 - one way out per doubt
    circumstances: Circumstances, scan: Scan | None, failed_tests: Sequence[str]
) -> tuple[bool, str]:
    if circumstances.soft_failed:
        return False, ""
    if failed_tests:
        return True, f"exit status 0, but its test report has {len(failed_tests)} failed"
    if scan is None or not scan.summaries:
        return False, ""
    last = scan.summaries[-1]
    failing = [summary for summary in scan.summaries if summary.failed]
    if not failing:
        return False, ""
    # Failed tests that ran again and passed are no failure; nor is it said which ones they were.
    doubt = scan.reruns or bool(scan.forgiven and not scan.failed_tests)
    if last.failed and not (scan.forgiven and not scan.failed_tests):
        return True, f"exit status 0, but line {last.line} says: {last.text}"
    if not doubt and scan.failed_tests:
        return True, f"exit status 0, but line {failing[-1].line} says: {failing[-1].text}"
    return False, ""


def _ends_well(scan: Scan) -> bool:
    if not scan.summaries or scan.problem:
        return False
    last = scan.summaries[-1]
    near = scan.lines - last.line <= _NEAR_END
    calm = all(finding.rule.generic for finding in scan.findings)
    return near and calm and bool(last.passed) and not any(s.failed for s in scan.summaries)
