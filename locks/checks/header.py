"""The header and the options of a lock: can anybody compile it again, anywhere?"""

import re
import shlex

from gauntlet.core.findings import Finding
from gauntlet.locks.checks.subject import Subject
from gauntlet.locks.header import program

_HOST = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_INDEX = ("--index-url", "--extra-index-url", "--default-index", "--index", "-i", "--find-links")
_INDEX_OPTIONS = (*_INDEX, "-f", "--trusted-host", "--no-index")


def check_header(subject: Subject) -> list[Finding]:
    """The command is there, and is the one that ``locks.yaml`` asks for."""
    found, wanted = subject.lock.command, subject.command
    if not found:
        message = "its header has no command that made it"
    elif program(found) is None:
        message = f"its header has a command of no known resolver: {found[0]}"
    elif found != wanted:
        message = f"its header has another command than locks.yaml asks for: {_difference(subject)}"
    else:
        return []
    return [_finding("header", subject.lock.file, message, subject)]


def check_index_host(subject: Subject) -> list[Finding]:
    """No index, no folder and no host is named."""
    findings = []
    for number, line in subject.lock.options:
        if line.split("=")[0].split()[0] in _INDEX_OPTIONS or _HOST.search(line):
            where = f"{subject.lock.file}:{number}"
            # The address itself may hold a password.
            message = f"it chooses where packages come from: {line.split('=')[0].split()[0]}"
            findings.append(_finding("index-host", where, message, subject))
    for word in subject.lock.command:
        if word.split("=")[0] in _INDEX_OPTIONS or _HOST.search(word):
            message = f"its command chooses where packages come from: {word.split('=')[0]}"
            findings.append(_finding("index-host", subject.lock.file, message, subject))
    return findings


def _difference(subject: Subject) -> str:
    found, wanted = subject.lock.command, subject.command
    missing = [word for word in wanted if word not in found]
    beyond = [word for word in found if word not in wanted]
    parts = [f"without {shlex.join(missing)}"] if missing else []
    parts += [f"with {shlex.join(beyond)}"] if beyond else []
    return ", ".join(parts) or "the order of its words"


def _finding(check: str, where: str, message: str, subject: Subject) -> Finding:
    return Finding(check=check, subject=where, message=message, remedy=subject.remedy)
