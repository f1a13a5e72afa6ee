"""Hashes of a lock, against what the index said when it was compiled."""

from gauntlet.core.findings import Finding
from gauntlet.locks.checks.subject import Subject
from gauntlet.locks.index import hashes_of
from gauntlet.locks.lock_file import Pin
from gauntlet.locks.record import Recorded

_TRUST = "restore the line from git; compile it again only if you know why it changed"


def check_hashes(subject: Subject) -> list[Finding]:
    """Every pin has a sha256, without which pip refuses the whole lock."""
    return [
        Finding(
            check="hashes",
            subject=subject.at(pin),
            message="it has no sha256, and pip refuses a lock where one has none",
            remedy=subject.remedy,
        )
        for pin in subject.lock.pins
        if not any(value.startswith("sha256:") for value in pin.hashes)
    ]


def check_tampered(subject: Subject) -> list[Finding]:
    """Hashes are those that the index gave for this version: none beyond, none missing."""
    findings = []
    for pin in subject.lock.pins:
        recorded = subject.recorded(pin)
        if recorded is not None and pin.hashes:
            findings += _differences(subject, pin, recorded)
    return findings


def check_unrecorded(subject: Subject) -> list[Finding]:
    """Every pin is in the record: of one that is not, nothing can be checked."""
    return [
        Finding(
            check="unrecorded",
            subject=subject.at(pin),
            message="it is not in index.json, so its files were not checked",
            remedy=subject.remedy,
        )
        for pin in subject.lock.pins
        if subject.recorded(pin) is None
    ]


def _differences(subject: Subject, pin: Pin, recorded: Recorded) -> list[Finding]:
    known = hashes_of(recorded)
    beyond = [value for value in pin.hashes if value not in known]
    present = {value.removeprefix("sha256:") for value in pin.hashes}
    missing = [name for name, digest in recorded.files.items() if digest not in present]
    findings = []
    if beyond:
        message = f"the index has no file of this hash: {_some(beyond)}"
        findings.append(_finding(subject, pin, message, _TRUST))
    if missing:
        message = f"the hash of a file is missing: {_some(missing)}"
        findings.append(_finding(subject, pin, message, subject.remedy))
    return findings


def _finding(subject: Subject, pin: Pin, message: str, remedy: str) -> Finding:
    return Finding(check="tampered", subject=subject.at(pin), message=message, remedy=remedy)


def _some(values: list[str]) -> str:
    more = f" and {len(values) - 2} more" if len(values) > 2 else ""
    return ", ".join(values[:2]) + more
