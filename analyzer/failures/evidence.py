"""Weigh what is known of a failed attempt, in order, until one kind of evidence decides."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from gauntlet.analyzer.failures.found import Finding, Scan
from gauntlet.analyzer.failures.model import Circumstances, Classification, Source
from gauntlet.analyzer.failures.signature import signature
from gauntlet.analyzer.failures.wrong_exit import wrong_exit
from gauntlet.warehouse.failure_classes import FailureClass

BREADTH = 3
"""On so many unrelated changes within an hour, a signature is not the change's."""
# What an agent did outweighs a log, save what says that the machine under it failed.
_HARD = 80
_INFRA: frozenset[FailureClass] = frozenset(
    {"infra_machine", "infra_network", "infra_capacity", "infra_agent", "upstream_hub",
     "image_build", "dependency"}
)  # fmt: skip
_BLAMES_CHANGE: frozenset[FailureClass] = frozenset(
    {"test_regression", "build_regression", "unknown", "timeout", "policy"}
)


class Verdict(NamedTuple):
    """What one kind of evidence says."""

    failure_class: FailureClass
    retryable: bool | None
    confidence: float
    reason: str
    owner: str = "CI infrastructure"


_BY_REASON = {
    "agent_lost": Verdict("infra_agent", True, 0.95, "the agent was lost"),
    "agent_stop": Verdict("infra_agent", True, 0.95, "the agent was stopped"),
    "agent_refused": Verdict("infra_agent", True, 0.9, "the agent refused the job"),
    "agent_incompatible": Verdict("infra_agent", True, 0.9, "the agent cannot run the job"),
    "stack_error": Verdict("infra_agent", True, 0.85, "the stack could not run the job"),
    "process_run_error": Verdict("infra_agent", True, 0.85, "the agent could not start a process"),
    "signature_rejected": Verdict("policy", False, 0.95, "the agent rejected the signature"),
    "unverified_job": Verdict("policy", False, 0.9, "the agent could not verify the job"),
    "cancel": Verdict("cancelled", True, 0.95, "it was cancelled", ""),
}
_BY_STATE = {
    "timed_out": Verdict("timeout", None, 0.9, "it ran longer than its limit", ""),
    "timing_out": Verdict("timeout", None, 0.9, "it ran longer than its limit", ""),
    "canceled": Verdict("cancelled", True, 0.95, "it was cancelled", ""),
    "canceling": Verdict("cancelled", True, 0.95, "it was cancelled", ""),
    "expired": Verdict("infra_capacity", True, 0.9, "no agent took it in time"),
}
_BY_SIGNAL = {
    "SIGKILL": Verdict("infra_capacity", None, 0.5, "it was killed; memory is the usual reason"),
    "SIGTERM": Verdict("infra_agent", True, 0.5, "it was told to end; the log does not say why"),
    "SIGINT": Verdict("cancelled", None, 0.6, "it was interrupted", ""),
    "SIGSEGV": Verdict("test_regression", None, 0.6, "it crashed: segmentation fault", ""),
    "SIGABRT": Verdict("test_regression", None, 0.6, "it aborted", ""),
    "SIGBUS": Verdict("infra_machine", None, 0.5, "it crashed: bus error"),
    "SIGILL": Verdict("build_regression", None, 0.5, "it crashed: illegal instruction", ""),
    "SIGFPE": Verdict("test_regression", None, 0.6, "it crashed: arithmetic", ""),
}  # fmt: skip
_NUMBERS = {2: "SIGINT", 4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL",
            11: "SIGSEGV", 15: "SIGTERM"}  # fmt: skip
_BY_STATUS = {
    -1: Verdict("infra_agent", True, 0.8, "exit status -1: the agent lost the job"),
    255: Verdict("infra_agent", None, 0.4, "exit status 255: a connection or an agent ended"),
    124: Verdict("timeout", None, 0.7, "exit status 124: timeout ended it", ""),
    125: Verdict("infra_machine", None, 0.5, "exit status 125: docker itself failed"),
    126: Verdict("image_build", False, 0.5, "exit status 126: the command cannot be run"),
    127: Verdict("dependency", False, 0.6, "exit status 127: the command is not there"),
}  # fmt: skip
# Signals that the machine sends: with one of these, text about machines outweighs tests.
_FROM_OUTSIDE = frozenset({"SIGKILL", "SIGTERM"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that is known of one attempt; ``scan`` is None where its log is not to be had.

    ``failed_tests`` are those of its test report; ``elsewhere`` counts unrelated changes with the
    same signature within an hour.
    """

    circumstances: Circumstances = field(default_factory=Circumstances)
    scan: Scan | None = None
    failed_tests: Sequence[str] = ()
    elsewhere: int = 0


def classify(evidence: Evidence) -> Classification:
    """Decide what a failure was: the first kind of evidence that says so, with its reasons."""
    told = _decide(evidence)
    wrong, why = wrong_exit(evidence.circumstances, evidence.scan, told, evidence.failed_tests)
    if wrong:
        told = replace(told, wrong_exit_code=True, reasons=(*told.reasons, why))
    if evidence.scan is not None and evidence.scan.problem:
        told = replace(told, reasons=(*told.reasons, f"the log is cut: {evidence.scan.problem}"))
    return told


def with_breadth(told: Classification, elsewhere: int) -> Classification:
    """Take other occurrences of a signature into account: many changes do not break one thing."""
    if elsewhere < BREADTH or told.failure_class not in _BLAMES_CHANGE:
        return told
    why = f"the same signature on {elsewhere} unrelated changes within an hour: not this change"
    # Main itself may be broken, so a test that fails everywhere stays what it is.
    if told.failure_class != "unknown":
        return replace(told, retryable=None, reasons=(*told.reasons, why), owner="")
    return replace(
        told, failure_class="infra_machine", retryable=None, confidence=0.5, source="breadth",
        owner="CI infrastructure", reasons=(*told.reasons, why),
    )  # fmt: skip


def signal_of(circumstances: Circumstances) -> str:
    """Name of the signal that ended it: as it was told, or from an exit status above 128."""
    told = circumstances.signal.upper()
    if told:
        return told if told.startswith("SIG") else f"SIG{told}"
    status = circumstances.exit_status
    return _NUMBERS.get(status - 128, "") if status is not None and 128 < status < 160 else ""


def _decide(evidence: Evidence) -> Classification:  # noqa: PLR0911 - one way out per evidence
    circumstances = evidence.circumstances
    findings = evidence.scan.findings if evidence.scan is not None else ()
    specific = evidence.scan.decisive() if evidence.scan is not None else ()
    agent = _BY_REASON.get(circumstances.signal_reason) or _BY_STATE.get(circumstances.state)
    if agent is not None:
        return _of_agent(agent, specific, circumstances)
    if _passed(circumstances, evidence):
        return _nothing(evidence, "it passed, and nothing in its log says otherwise")
    flaky = _flaky(evidence, specific)
    if flaky is not None:
        return flaky
    signal = signal_of(circumstances)
    outside = _from_outside(specific) if signal in _FROM_OUTSIDE else None
    if outside is not None:
        return _of_rule(outside, f"ended by {signal}")
    if specific:
        return _of_rule(specific[0], f"rule {specific[0].rule.name}")
    exit_verdict = _BY_SIGNAL.get(signal) or _BY_STATUS.get(circumstances.exit_status or 0)
    if exit_verdict is not None:
        return _of_verdict(exit_verdict, "exit", findings, signal or "exit")
    if evidence.failed_tests:
        return _of_report(evidence.failed_tests)
    return with_breadth(_unknown(evidence, findings), evidence.elsewhere)


def _flaky(evidence: Evidence, specific: Sequence[Finding]) -> Classification | None:
    """A test that failed and passed when it ran again, where nothing else went wrong."""
    scan = evidence.scan
    if scan is None or scan.failed_tests or evidence.failed_tests:
        return None
    said = next((f for f in specific if f.rule.failure_class == "flaky"), None)
    line = scan.passed_again or (said.line if said is not None else None)
    others = [f for f in specific if f.rule.failure_class != "flaky"]
    if line is None or not all(f.in_tests and f.line.number <= line.number for f in others):
        return None
    if scan.summaries and scan.summaries[-1].failed:
        return None
    names = list(scan.forgiven)[:1] or (list(said.keys) if said is not None else [])
    return Classification(
        failure_class="flaky", retryable=True, confidence=0.9, line=line.number, text=line.text,
        signature=signature("flaky", names), wrong_exit_code=False, source="rule",
        rule=said.rule.name if said is not None else "passed_again",
        owner="the owner of the test", reasons=("it failed, and passed when it ran again",),
    )  # fmt: skip


def _of_agent(
    verdict: Verdict, specific: Sequence[Finding], circumstances: Circumstances
) -> Classification:
    """What scheduler or agent say; a log that names a failing machine says more."""
    word = circumstances.signal_reason or circumstances.state
    if verdict.failure_class in ("timeout", "infra_agent"):
        hard = [f for f in specific if f.rule.failure_class in _INFRA and f.rule.priority >= _HARD]
        if hard:
            told = _of_rule(hard[0], f"{word}: {verdict.reason}")
            return replace(told, retryable=told.retryable or verdict.retryable)
        same = [f for f in specific if f.rule.failure_class == verdict.failure_class]
        if same:
            return _of_rule(same[0], f"{word}: {verdict.reason}")
    return _of_verdict(verdict, "agent", specific, word)


def _from_outside(specific: Sequence[Finding]) -> Finding | None:
    wanted = ("infra_capacity", "infra_agent", "infra_machine", "timeout", "cancelled")
    return next((f for f in specific if f.rule.failure_class in wanted), None)


def _of_rule(finding: Finding, reason: str) -> Classification:
    rule = finding.rule
    return Classification(
        failure_class=rule.failure_class,
        retryable=rule.retryable,
        confidence=rule.confidence,
        line=finding.line.number,
        text=finding.line.text,
        signature=finding.signature,
        wrong_exit_code=False,
        source="rule",
        rule=rule.name,
        owner=rule.owner,
        reasons=(reason,),
    )


def _of_verdict(
    verdict: Verdict, source: Source, findings: Sequence[Finding], word: str
) -> Classification:
    """A verdict without a rule; the line that its log would have told by is shown."""
    finding = findings[0] if findings else None
    keys = [finding.signature] if finding is not None and not finding.rule.generic else []
    return Classification(
        failure_class=verdict.failure_class,
        retryable=verdict.retryable,
        confidence=verdict.confidence,
        line=finding.line.number if finding else None,
        text=finding.line.text if finding else "",
        signature=signature(word, keys),
        wrong_exit_code=False,
        source=source,
        owner=verdict.owner,
        reasons=(verdict.reason,),
    )


def _of_report(tests: Sequence[str]) -> Classification:
    more = f" and {len(tests) - 1} more" if len(tests) > 1 else ""
    return Classification(
        failure_class="test_regression", retryable=False, confidence=0.8, line=None, text="",
        signature=signature("test_report", [tests[0]]), wrong_exit_code=False, source="report",
        owner="the author of the change", reasons=(f"its test report: {tests[0]}{more}",),
    )  # fmt: skip


def _passed(circumstances: Circumstances, evidence: Evidence) -> bool:
    """Whether it says that it passed, and its tests do too."""
    if circumstances.state not in ("", "passed") or circumstances.exit_status != 0:
        return False
    return not wrong_exit(circumstances, evidence.scan, None, evidence.failed_tests)[0]


def _nothing(evidence: Evidence, reason: str) -> Classification:
    del evidence
    return Classification(
        failure_class="unknown", retryable=None, confidence=0.0, line=None, text="", signature="",
        wrong_exit_code=False, source="none", reasons=(reason,),
    )  # fmt: skip


def _unknown(evidence: Evidence, findings: Sequence[Finding]) -> Classification:
    """Nothing decides: the line that green logs do not have, else one that says it failed."""
    scan = evidence.scan
    if scan is not None and scan.novel:
        line = scan.novel[0]
        return Classification(
            failure_class="unknown", retryable=None, confidence=0.3, line=line.number,
            text=line.text, signature=signature("novel", [line.body]), wrong_exit_code=False,
            source="novelty", reasons=(f"no rule matches; {len(scan.novel)} in no green log",),
        )  # fmt: skip
    if findings:
        told = _of_rule(findings[0], "no rule matches that says what failed")
        return replace(told, source="none", confidence=min(told.confidence, 0.2))
    return _nothing(evidence, "no rule matches, and nothing else is known")
