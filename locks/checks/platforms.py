"""Whether everything that is pinned can be installed where the lock is for."""

from collections.abc import Iterator
from functools import cache

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from gauntlet.core.findings import Finding
from gauntlet.locks.checks.subject import Subject, holds
from gauntlet.locks.header import architecture
from gauntlet.locks.lock_file import Pin
from gauntlet.locks.record import Recorded

_OLDEST_GLIBC = 5
_LEGACY_NAMES = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}


def check_platform(subject: Subject) -> list[Finding]:
    """Each platform has a wheel of every pin, or its source is allowed."""
    findings = []
    for platform in subject.spec.platforms:
        tags = supported_tags(platform, subject.python, subject.spec.glibc)
        for pin in subject.pins_on(platform):
            recorded = subject.recorded(pin)
            if recorded is None or has_wheel(recorded, tags):
                continue
            if pin.name in sdists_of(subject) and has_sdist(recorded):
                continue
            findings.append(_no_wheel(subject, pin, platform, recorded))
    return findings


def check_closure(subject: Subject) -> list[Finding]:
    """On each platform everything that a pin requires there is pinned, and fits.

    A lock is resolved for its first platform; this says whether it is whole on the others.
    """
    findings = [
        Finding(
            check="closure",
            subject=subject.at(pin),
            message=f"it wants {line!r}, which is no requirement, so nothing says whether it fits",
            remedy="pin another version of it, and tell its makers",
        )
        for pin in subject.lock.pins
        for line in _wanted(subject, pin)
        if _read(line) is None
    ]
    overridden = _overridden(subject)
    for platform in subject.spec.platforms:
        where = subject.environments[platform]
        pins = {pin.name: pin for pin in subject.pins_on(platform)}
        for pin in pins.values():
            for needed in _requirements(subject, pin, where):
                name = canonicalize_name(needed.name)
                if name in overridden:
                    continue
                there = pins.get(name)
                if there is None:
                    message = f"{pin.key} wants {needed} on {platform}, and the lock has none"
                elif not needed.specifier.contains(there.version, prereleases=True):
                    message = f"{pin.key} wants {needed} on {platform}, pinned is {there.version}"
                else:
                    continue
                findings.append(
                    Finding(
                        check="closure",
                        subject=f"{subject.lock.file} {name}",
                        message=message,
                        remedy=_closure_remedy(subject, platform),
                    )
                )
    return findings


def check_python(subject: Subject) -> list[Finding]:
    """Every pin runs on the Python of the lock."""
    findings = []
    for pin in subject.lock.pins:
        recorded = subject.recorded(pin)
        if recorded is None or _admits(recorded.requires_python, subject.python):
            continue
        message = f"it needs Python {recorded.requires_python}, the lock is for {subject.python}"
        findings.append(
            Finding(check="python", subject=subject.at(pin), message=message, remedy=subject.remedy)
        )
    return findings


def check_yanked(subject: Subject) -> list[Finding]:
    """No pin was taken back by those who made it."""
    findings = []
    for pin in subject.lock.pins:
        recorded = subject.recorded(pin)
        if recorded is not None and recorded.yanked is not None:
            findings.append(
                Finding(
                    check="yanked",
                    subject=subject.at(pin),
                    message=f"it was yanked: {recorded.yanked}",
                    remedy=f"{subject.remedy} --upgrade-package {pin.name}",
                )
            )
    return findings


def sdists_of(subject: Subject) -> frozenset[str]:
    """Canonical names of packages that may come as source."""
    return frozenset(canonicalize_name(name) for name in subject.spec.sdists)


def has_sdist(recorded: Recorded) -> bool:
    """Whether there is a source distribution."""
    return any(not name.endswith(".whl") for name in recorded.files)


def has_wheel(recorded: Recorded, tags: frozenset[Tag]) -> bool:
    """Whether one of the wheels has one of the tags."""
    return any(not tags.isdisjoint(_tags_of(name)) for name in recorded.files)


@cache
def supported_tags(platform: str, python: str, glibc: str) -> frozenset[Tag]:
    """Tags of wheels that install with CPython on Linux with a glibc, the manylinux way."""
    major, minor = (int(part) for part in python.split("."))
    platforms = list(_platforms(architecture(platform), int(glibc.split(".")[1])))
    own = cpython_tags((major, minor), [f"cp{major}{minor}"], platforms)
    pure = compatible_tags((major, minor), f"cp{major}{minor}", platforms)
    return frozenset({*own, *pure})


def _platforms(machine: str, glibc: int) -> Iterator[str]:
    for minor in range(glibc, _OLDEST_GLIBC - 1, -1):
        yield f"manylinux_2_{minor}_{machine}"
        if minor in _LEGACY_NAMES:
            yield f"{_LEGACY_NAMES[minor]}_{machine}"
    yield f"linux_{machine}"


@cache
def _tags_of(name: str) -> frozenset[Tag]:
    if not name.endswith(".whl"):
        return frozenset()
    try:
        return parse_wheel_filename(name)[3]
    except InvalidWheelFilename:
        return frozenset()


def _no_wheel(subject: Subject, pin: Pin, platform: str, recorded: Recorded) -> Finding:
    kind = "source alone" if has_sdist(recorded) else "no file"
    there = f"it has {kind} for {platform}, Python {subject.python}, glibc {subject.spec.glibc}"
    remedy = f"pin another version, drop the platform, or allow it: sdists: [{pin.name}]"
    return Finding(check="platform", subject=subject.at(pin), message=there, remedy=remedy)


def _closure_remedy(subject: Subject, platform: str) -> str:
    if platform == subject.spec.platforms[0]:
        return subject.remedy
    return f"give {platform} a lock of its own, or name what it wants in {subject.spec.inputs[0]}"


def _requirements(subject: Subject, pin: Pin, where: dict[str, str] | object) -> list[Requirement]:
    found = []
    for needed in map(_read, _wanted(subject, pin)):
        if needed is None:
            continue
        marker = str(needed.marker) if needed.marker else ""
        if any(holds(marker, where, extra) for extra in ("", *pin.extras)):  # type: ignore[arg-type]
            found.append(needed)
    return found


def _wanted(subject: Subject, pin: Pin) -> tuple[str, ...]:
    recorded = subject.recorded(pin)
    return (recorded.requires if recorded else None) or ()


def _read(line: str) -> Requirement | None:
    try:
        return Requirement(line)
    except InvalidRequirement:
        return None


def _overridden(subject: Subject) -> frozenset[str]:
    from gauntlet.locks.checks.inputs import requirements_of

    texts = {file: subject.texts.get(file, "") for file in subject.spec.overrides}
    return frozenset(
        canonicalize_name(each.requirement.name)
        for file, text in texts.items()
        for each in requirements_of(file, text)
    )


def _admits(requires_python: str, python: str) -> bool:
    """Whether some release of a Python is admitted; releases are told apart by no lock."""
    if not requires_python:
        return True
    try:
        specifiers = SpecifierSet(requires_python)
    except InvalidSpecifier:
        # Installers refuse it, too.
        return False
    return any(specifiers.contains(f"{python}.{patch}") for patch in (0, 99))
