"""Whether a lock still answers its inputs: by reading them, without a resolver."""

from collections.abc import Sequence

from packaging.utils import canonicalize_name

from gauntlet.core.findings import Finding
from gauntlet.locks.checks.inputs import Asked, asked_by, constrained_by, requirements_of
from gauntlet.locks.checks.subject import Subject, holds
from gauntlet.locks.lock_file import Pin


def check_stale(subject: Subject, constraints: Sequence[str]) -> list[Finding]:
    """Everything that an input asks for is pinned and fits, and constraints are kept.

    Raises ConfigError where an input cannot be read.
    """
    where = subject.environments[subject.spec.platforms[0]]
    pins: dict[str, list[Pin]] = {}
    for pin in subject.pins_on(subject.spec.platforms[0]):
        pins.setdefault(pin.name, []).append(pin)
    overridden = {
        canonicalize_name(each.requirement.name)
        for file in subject.spec.overrides
        for each in requirements_of(file, subject.texts[file])
    }
    findings = []
    for asked in asked_by(subject.spec, subject.texts):
        name = canonicalize_name(asked.requirement.name)
        marker = str(asked.requirement.marker or "")
        if name not in overridden and holds(marker, where):
            findings += _unanswered(subject, asked, pins.get(name, []))
    for asked in constrained_by(constraints, subject.spec, subject.texts):
        name = canonicalize_name(asked.requirement.name)
        if holds(str(asked.requirement.marker or ""), where):
            findings += _beyond(subject, asked, pins.get(name, []))
    return list(dict.fromkeys(findings))


def _unanswered(subject: Subject, asked: Asked, pins: Sequence[Pin]) -> list[Finding]:
    wanted = asked.requirement
    if not pins:
        return [_finding(subject, asked, f"{asked.where} wants {wanted}, and the lock has none")]
    findings = _beyond(subject, asked, pins)
    extras = {canonicalize_name(extra) for extra in wanted.extras}
    lacking = [pin for pin in pins if not extras <= set(pin.extras)]
    if lacking:
        message = f"{asked.where} wants {wanted}, pinned is {lacking[0].key} without these extras"
        findings.append(_finding(subject, asked, message))
    return findings


def _beyond(subject: Subject, asked: Asked, pins: Sequence[Pin]) -> list[Finding]:
    return [
        _finding(
            subject, asked, f"{asked.where} wants {asked.requirement}, pinned is {pin.version}"
        )
        for pin in pins
        if not asked.requirement.specifier.contains(pin.version, prereleases=True)
    ]


def _finding(subject: Subject, asked: Asked, message: str) -> Finding:
    name = canonicalize_name(asked.requirement.name)
    return Finding(
        check="stale",
        subject=f"{subject.lock.file} {name}",
        message=message,
        remedy=subject.remedy,
    )
