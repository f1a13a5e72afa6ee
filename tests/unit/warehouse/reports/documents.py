"""Small test reports, and what a test wants to know of one."""

from datetime import UTC, datetime

from gauntlet.warehouse.reports.junit import parse_junit

NOW = datetime(2026, 7, 1, 12, tzinfo=UTC)


def suite(*cases, name="pytest", **attributes):
    told = "".join(f' {key}="{value}"' for key, value in attributes.items())
    return f'<testsuite name="{name}"{told}>{"".join(cases)}</testsuite>'


def document(*cases, **attributes):
    return f"<testsuites>{suite(*cases, **attributes)}</testsuites>"


def case(inside="", *, classname="tests.test_a", name="test_x", time="0.5", **attributes):
    named = {"classname": classname, "name": name, "time": time, **attributes}
    told = "".join(f' {key}="{value}"' for key, value in named.items() if value is not None)
    return f"<testcase{told}>{inside}</testcase>" if inside else f"<testcase{told} />"


def read(text, **options):
    data = text if isinstance(text, bytes) else text.encode()
    return parse_junit([data], origin="report.xml", now=NOW, **options)


def outcomes(report):
    """Words by node id, in the order of occurrences."""
    found = {}
    codes = dict(enumerate(("", "passed", "failed", "error", "skipped", "xfailed", "xpassed")))
    for nodeid, code in zip(report.nodeids, report.outcomes, strict=True):
        found.setdefault(nodeid, []).append(codes[int(code)])
    return {nodeid: words[0] if len(words) == 1 else words for nodeid, words in found.items()}


def reasons(report):
    return [reason for problem in report.problems for reason in problem.reasons]
