"""Advisories in OSV's format (https://ossf.github.io/osv-schema) against pinned versions."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version
from pydantic import BaseModel, ConfigDict, ValidationError

from gauntlet.core.errors import ConfigError, Problem
from gauntlet.core.findings import Finding
from gauntlet.core.yaml_file import read_text
from gauntlet.locks.checks.subject import Subject
from gauntlet.locks.lock_file import Pin
from gauntlet.locks.manifest import AcceptedAdvisory

_ECOSYSTEM = "PyPI"


class _Foreign(BaseModel):
    """Part of a format that others extend: keys that we do not know are passed over."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Event(_Foreign):
    """Where a range begins or ends."""

    introduced: str | None = None
    fixed: str | None = None
    last_affected: str | None = None


class Range(_Foreign):
    """Versions by what happened along the way."""

    type: str
    events: tuple[Event, ...] = ()


class Package(_Foreign):
    """What is affected."""

    ecosystem: str
    name: str


class Affected(_Foreign):
    """One package and its versions."""

    package: Package | None = None
    ranges: tuple[Range, ...] = ()
    versions: tuple[str, ...] = ()


class Advisory(_Foreign):
    """One advisory."""

    id: str
    summary: str = ""
    aliases: tuple[str, ...] = ()
    withdrawn: str | None = None
    affected: tuple[Affected, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """A pin that an advisory concerns."""

    advisory: Advisory
    pin: Pin
    affected: Affected

    @property
    def fixed(self) -> str:
        """The version that mends it; empty where none is known."""
        return _fixed(self.pin.version, self.affected)


def load_advisories(path: Path) -> tuple[Advisory, ...]:
    """Read a file (one advisory or a list) or all ``*.json`` of a folder.

    Raises ConfigError that lists every file that is no advisory.
    """
    files = sorted(path.rglob("*.json")) if path.is_dir() else [path]
    if not files:
        raise ConfigError([Problem(file=str(path), message="no advisory (*.json) is in it")])
    found: list[Advisory] = []
    problems: list[Problem] = []
    for file in files:
        try:
            value = json.loads(read_text(file))
            found += [Advisory.model_validate(each) for each in _each(value)]
        except (json.JSONDecodeError, ValidationError, TypeError) as error:
            message = f"it is no advisory in OSV's format: {str(error).splitlines()[0]}"
            problems.append(Problem(file=str(file), message=message))
    if problems:
        raise ConfigError(problems)
    return tuple(found)


def hits_of(subject: Subject, advisories: Iterable[Advisory]) -> list[Hit]:
    """Pins of a lock that advisories concern; those withdrawn count for nothing."""
    named = _naming(subject, advisories)
    return [hit for hit in named if is_affected(hit.pin.version, hit.affected)]


def _naming(subject: Subject, advisories: Iterable[Advisory]) -> Iterator[Hit]:
    """Pins that advisories name, whatever their version."""
    for advisory in advisories:
        if advisory.withdrawn:
            continue
        for affected in advisory.affected:
            package = affected.package
            if package is None or package.ecosystem.partition(":")[0] != _ECOSYSTEM:
                continue
            for pin in subject.lock.by_name.get(canonicalize_name(package.name), ()):
                yield Hit(advisory, pin, affected)


def check_advisories(
    subject: Subject, hits: Sequence[Hit], accepted: Sequence[AcceptedAdvisory], today: date
) -> list[Finding]:
    """Every hit is accepted until a day that has not passed."""
    findings = []
    for hit in hits:
        names = (hit.advisory.id, *hit.advisory.aliases)
        acceptance = next((each for each in accepted if each.id in names), None)
        if acceptance is not None and today <= acceptance.until:
            continue
        message = f"{hit.advisory.id}: {hit.advisory.summary or 'no summary'}"
        if acceptance is not None:
            message += f"; it was accepted until {acceptance.until}, which has passed"
        upgrade = f"{subject.remedy} --upgrade-package {hit.pin.name}"
        fixed = f" (fixed in {hit.fixed})" if hit.fixed else ""
        remedy = f"{upgrade}{fixed}, or accept it in locks.yaml until a day"
        findings.append(
            Finding(check="advisory", subject=subject.at(hit.pin), message=message, remedy=remedy)
        )
    return findings


def check_acceptances(
    accepted: Sequence[AcceptedAdvisory], hits: Iterable[Hit], file: str
) -> list[Finding]:
    """Every acceptance still accepts something."""
    met = {name for hit in hits for name in (hit.advisory.id, *hit.advisory.aliases)}
    return [
        Finding(
            check="advisory",
            subject=f"{file} {each.id}",
            message="it is accepted, and concerns nothing that is locked",
            remedy="remove it from `accepted`",
            level="warning",
        )
        for each in accepted
        if each.id not in met
    ]


def is_affected(version: str, affected: Affected) -> bool:
    """Whether a version is listed, or lies in a range. What cannot be compared counts as inside."""
    if version in affected.versions:
        return True
    ranges = [each for each in affected.ranges if each.type == "ECOSYSTEM"]
    try:
        return any(_inside(Version(version), each.events) for each in ranges)
    except InvalidVersion:
        return True


def _inside(version: Version, events: Sequence[Event]) -> bool:
    inside = False
    for event in sorted(events, key=_place):
        if event.introduced is not None and version >= _version(event.introduced):
            inside = True
        if event.fixed is not None and version >= Version(event.fixed):
            inside = False
        if event.last_affected is not None and version > Version(event.last_affected):
            inside = False
    return inside


def _place(event: Event) -> Version:
    return _version(event.introduced or event.fixed or event.last_affected or "0")


def _version(text: str) -> Version:
    # Zero stands before everything, development releases of 0 included.
    return Version("0.dev0") if text == "0" else Version(text)


def _fixed(version: str, affected: Affected) -> str:
    """The first fixed version above the one that is pinned."""
    fixed = [event.fixed for each in affected.ranges for event in each.events if event.fixed]
    try:
        above = [each for each in fixed if Version(each) > Version(version)]
        return min(above, key=Version, default="")
    except InvalidVersion:
        return ""


def _each(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]
