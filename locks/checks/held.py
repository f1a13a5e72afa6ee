"""Holds: packages that are kept back on purpose, each with a reason and a day."""

import re
from datetime import date

from packaging.requirements import InvalidRequirement, Requirement

from gauntlet.core.findings import Finding

_UNTIL = re.compile(r"(?P<reason>.*?),?\s*\buntil\s+(?P<day>\d{4}-\d{2}-\d{2})\s*$")


def check_holds(text: str, file: str, today: date) -> list[Finding]:
    """Each line is ``NAME<VERSION  # REASON, until YYYY-MM-DD``, and the day has not passed."""
    findings = []
    for number, line in enumerate(text.splitlines(), start=1):
        wanted, _, remark = (part.strip() for part in line.partition("#"))
        if wanted:
            problem = _problem(wanted, remark, today)
            if problem:
                findings.append(_finding(f"{file}:{number} {wanted}", *problem))
    return findings


def _problem(wanted: str, remark: str, today: date) -> tuple[str, str] | None:
    form = "write it as `name<version  # reason, until 2030-12-31`"
    try:
        Requirement(wanted)
    except InvalidRequirement:
        return "it is no requirement", form
    found = _UNTIL.fullmatch(remark)
    if found is None or not found["reason"].strip():
        return "it says no reason and no day until which it holds", form
    try:
        until = date.fromisoformat(found["day"])
    except ValueError:
        return f"{found['day']} is no day", form
    if today > until:
        return f"it held until {until}, which has passed", "remove it, or say anew why and until"
    return None


def _finding(subject: str, message: str, remedy: str) -> Finding:
    return Finding(check="holds", subject=subject, message=message, remedy=remedy)
