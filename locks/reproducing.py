"""Run the command of a lock again, without an index: the same pins must come out."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from gauntlet.core.errors import ConfigError
from gauntlet.core.findings import Finding
from gauntlet.locks.checks.subject import Subject
from gauntlet.locks.lock_file import LockFile, Pin, is_input, parse_lock
from gauntlet.locks.resolver import Resolution, Resolver
from gauntlet.locks.stubs import write_stubs


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduced:
    """What running the command again gave.

    ``at_its_word`` are keys of pins of which only a build would tell what they require: that was
    taken from the lock itself, so a wrong requirement of theirs is not found.
    """

    findings: tuple[Finding, ...]
    at_its_word: tuple[str, ...] = ()


def check_reproduced(subject: Subject, root: Path, resolver: Resolver) -> Reproduced:
    """Resolve against stubs of what is recorded, from the present pins; name every difference.

    Raises InfrastructureError where the resolver cannot be run: then nothing was checked.
    """
    with tempfile.TemporaryDirectory(prefix="gauntlet-stubs-") as made:
        guessed = write_stubs(Path(made), subject.lock, subject.record)
        resolution = Resolution(
            root=root,
            file=subject.lock.file,
            spec=subject.spec,
            python=subject.python,
            present=subject.lock.text,
            find_links=(Path(made),),
            offline=True,
            hashes=False,
        )
        try:
            text = resolver.resolve(resolution)
        except ConfigError as error:
            reason = "; ".join(problem.message for problem in error.problems)
            finding = _finding(subject, "", f"its command finds no answer: {reason}")
            return Reproduced(findings=(finding,), at_its_word=guessed)
    again = parse_lock(text, file=subject.lock.file)
    return Reproduced(findings=tuple(differences(subject, again)), at_its_word=guessed)


def differences(subject: Subject, again: LockFile) -> list[Finding]:
    """What differs between a lock and what its command gives."""
    before = {(pin.name, pin.marker): pin for pin in subject.lock.pins}
    after = {(pin.name, pin.marker): pin for pin in again.pins}
    findings = []
    for key in sorted({*before, *after}):
        old, new = before.get(key), after.get(key)
        message = _difference(old, new)
        if message:
            findings.append(_finding(subject, key[0], message))
    return findings


def _difference(old: Pin | None, new: Pin | None) -> str:
    """Say how two pins differ; nothing where they do not."""
    if old is None and new is not None:
        return f"it lacks {new.key}, which {_whom(new)}"
    if old is None or new is None:
        return f"nothing wants {old.key if old else ''} any more"
    if old.version != new.version:
        return f"it has {old.key}, its command gives {new.version}, which {_whom(new)}"
    if old.extras != new.extras:
        return f"its extras are {list(old.extras)}, its command gives {list(new.extras)}"
    if sorted(old.via) != sorted(new.via):
        gone = sorted(set(old.via) - set(new.via))
        more = sorted(set(new.via) - set(old.via))
        parts = [f"not through {', '.join(gone)}"] if gone else []
        parts += [f"also through {', '.join(more)}"] if more else []
        return f"{old.key} comes {' and '.join(parts) or 'in another order'}"
    return ""


def _whom(pin: Pin) -> str:
    direct = [who for who in pin.via if is_input(who)]
    names = ", ".join(direct or pin.via) or "nobody it names"
    return f"{names} wants"


def _finding(subject: Subject, name: str, message: str) -> Finding:
    where = f"{subject.lock.file} {name}".rstrip()
    return Finding(check="reproduced", subject=where, message=message, remedy=subject.remedy)
