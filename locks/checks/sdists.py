"""Source distributions of a lock: does anything pin what they are built with? (case C53)

pip and uv build a source distribution in an environment of its own, which constraints of the
install do not reach; only build constraints do.
"""

from collections.abc import Mapping

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion

from gauntlet.core.findings import Finding
from gauntlet.locks.checks.inputs import Asked, requirements_of
from gauntlet.locks.checks.platforms import has_sdist, has_wheel, sdists_of, supported_tags
from gauntlet.locks.checks.subject import Subject
from gauntlet.locks.lock_file import Pin


def check_sdist_covered(subject: Subject) -> list[Finding]:
    """Everything that an allowed source distribution is built with is pinned."""
    pinned: dict[str, Asked] = {
        canonicalize_name(each.requirement.name): each
        for file in subject.spec.build_constraints
        for each in requirements_of(file, subject.texts[file])
    }
    findings = []
    for pin in _built(subject):
        recorded = subject.recorded(pin)
        needs = recorded.build_requires if recorded else None
        if needs is None:
            message = "not covered by constraints: what it is built with is not recorded"
            findings.append(_finding(subject, pin, message))
            continue
        for line in needs:
            findings += _uncovered(subject, pin, line, pinned)
    return findings


def _built(subject: Subject) -> list[Pin]:
    """Pins that some platform of the lock has as source alone."""
    found = {}
    for platform in subject.spec.platforms:
        tags = supported_tags(platform, subject.python, subject.spec.glibc)
        for pin in subject.pins_on(platform):
            recorded = subject.recorded(pin)
            allowed = pin.name in sdists_of(subject)
            if allowed and recorded and has_sdist(recorded) and not has_wheel(recorded, tags):
                found[pin.key] = pin
    return list(found.values())


def _uncovered(subject: Subject, pin: Pin, line: str, pinned: Mapping[str, Asked]) -> list[Finding]:
    try:
        needed = Requirement(line)
    except InvalidRequirement:
        return [_finding(subject, pin, f"not covered by constraints: {line} is no requirement")]
    given = pinned.get(canonicalize_name(needed.name))
    version = None if given is None else _exact(given.requirement)
    if given is None or version is None:
        return [_finding(subject, pin, f"not covered by constraints: it is built with {needed}")]
    try:
        fits = needed.specifier.contains(version, prereleases=True)
    except InvalidVersion:
        fits = False
    if fits:
        return []
    message = f"{given.where} pins {given.requirement}, and it is built with {needed}"
    return [_finding(subject, pin, message)]


def _exact(requirement: Requirement) -> str | None:
    """The version that a requirement pins, None where it pins none."""
    specifiers = list(requirement.specifier)
    exact = [each for each in specifiers if each.operator == "==" and "*" not in each.version]
    return exact[0].version if len(specifiers) == 1 and exact else None


def _finding(subject: Subject, pin: Pin, message: str) -> Finding:
    files = subject.spec.build_constraints
    file = files[0] if files else "a file that build_constraints of locks.yaml names"
    remedy = f"constraints do not reach isolated builds: pin it in {file}"
    return Finding(check="sdist-covered", subject=subject.at(pin), message=message, remedy=remedy)
