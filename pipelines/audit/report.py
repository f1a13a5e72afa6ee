"""Findings in words for people, and as plain data for programs."""

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from gauntlet.pipelines.audit.baseline import Comparison
from gauntlet.pipelines.audit.model import Finding
from gauntlet.pipelines.audit.registry import RULES
from gauntlet.pipelines.audit.run import AuditReport

_NARROWEST = 60


def report_lines(
    report: AuditReport, comparison: Comparison | None = None, *, width: int | None = None
) -> Iterator[str]:
    """Yield findings by rule, then a summary; with a baseline, only what is new.

    A line is one finding; ``width`` (in columns) folds longer ones.
    """
    shown = report.findings if comparison is None else comparison.new
    by_rule = Counter(finding.rule for finding in shown)
    for rule, count in by_rule.items():
        yield f"{rule} ({count}): {RULES[rule].title}"
        for finding in shown:
            if finding.rule == rule:
                yield _folded(f"  {finding_line(finding)}", width)
        yield ""
    yield from _summary(report, by_rule, comparison)


def finding_line(finding: Finding) -> str:
    """A finding as compilers print theirs: ``file:line: job: message``."""
    where = finding.file if finding.line is None else f"{finding.file}:{finding.line}"
    return ": ".join(filter(None, (where, finding.job, finding.message)))


def _folded(line: str, width: int | None) -> str:
    if width is None or len(line) <= width:
        return line
    return textwrap.fill(
        line,
        max(width, _NARROWEST),
        subsequent_indent="      ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _summary(
    report: AuditReport, by_rule: Counter[str], comparison: Comparison | None
) -> Iterator[str]:
    total = len(report.findings)
    if comparison is not None:
        known = total - len(comparison.new)
        yield f"{_findings(total)}, {known} in the baseline, {len(comparison.new)} new"
    elif total:
        rules = f"{len(by_rule)} of {len(report.rules)} rules"
        yield f"{_findings(total)} by {rules}, in {report.jobs} jobs and {report.files} files"
    else:
        yield f"no findings in {report.jobs} jobs and {report.files} files"


def _findings(count: int) -> str:
    return "1 finding" if count == 1 else f"{count} findings"


def remark_lines(report: AuditReport, comparison: Comparison | None = None) -> Iterator[str]:
    """Yield what is no finding: limits of the audit, entries to remove, what the exit code says."""
    for note in report.notes:
        yield f"note: {note}"
    for identity in comparison.fixed if comparison else ():
        place = ": ".join(filter(None, (identity.file, identity.job, identity.subject)))
        yield f"fixed, remove from the baseline: {identity.rule}: {place}"
    if report.findings and comparison is None:
        yield "note: findings do not fail this report; --baseline FILE makes it a gate"


def record(findings: Sequence[Finding], comparison: Comparison | None = None) -> dict[str, Any]:
    """Findings as plain data; ``new`` is None where there is no baseline to compare with."""
    new = None if comparison is None else {finding.identity for finding in comparison.new}
    return {
        "findings": [
            {
                "rule": finding.rule,
                "file": finding.file,
                "line": finding.line,
                "job": finding.job,
                "subject": finding.subject,
                "message": finding.message,
                "new": None if new is None else finding.identity in new,
            }
            for finding in findings
        ],
        "counts": dict(Counter(finding.rule for finding in findings)),
        "new": None if comparison is None else len(comparison.new),
    }
