"""``SHA256SUMS``, as ``sha256sum --check`` reads it."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from gauntlet.core.errors import UsageError
from gauntlet.core.files import write_atomic
from gauntlet.core.findings import Finding
from gauntlet.core.ids import file_digest
from gauntlet.core.yaml_file import read_text
from gauntlet.release.proof.errors import ProofError

SUMS = "SHA256SUMS"
_LINE = re.compile(r"^([0-9a-f]{64}) [ *](.+)$")


def sums_text(sums: Mapping[str, str]) -> str:
    """One line for each name, sorted; ``sums`` are SHA-256 in hex by relative name.

    Raises UsageError for a name that cannot stand in a line, or leaves the folder.
    """
    for name in sums:
        if not _is_safe(name):
            msg = f"{name!r} cannot be a name in {SUMS}"
            raise UsageError(msg, hint="give files below one folder, without odd characters")
    return "".join(f"{sums[name]}  {name}\n" for name in sorted(sums))


def parse_sums(text: str, *, file: str = SUMS) -> dict[str, str]:
    """Read sums by name; raises ProofError with the line for damage and for a name given twice."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.split("\n")[:-1], 1):
        match = _LINE.match(line)
        if match is None or not _is_safe(match.group(2)) or match.group(2) in found:
            msg = f"{file}:{number}: expected a SHA-256 and a name of its own, found {line[:100]!r}"
            raise ProofError(msg, hint="fetch the file again")
        found[match.group(2)] = match.group(1)
    if text and not text.endswith("\n"):
        raise ProofError(f"{file}: its last line is cut", hint="fetch the file again")
    return found


def write_sums(folder: Path, paths: Iterable[Path]) -> Path:
    """Write ``SHA256SUMS`` of files below a folder into it; return the file."""
    sums = {path.relative_to(folder).as_posix(): file_digest(path) for path in set(paths)}
    return write_atomic(folder / SUMS, sums_text(sums), fsync=True)


def verify_sums(folder: Path, *, others: Iterable[str] = ()) -> tuple[Finding, ...]:
    """Compare a folder with its ``SHA256SUMS``: what was changed, is missing, is not listed.

    ``others`` are names that need not be listed, such as the signature of the list itself.
    Raises ConfigError where there is no list, ProofError where it is damaged.
    """
    listed = parse_sums(read_text(folder / SUMS), file=str(folder / SUMS))
    there = {
        path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()
    }
    findings = []
    for name, digest in listed.items():
        if name not in there:
            findings.append(_finding("sums-missing", name, "it is listed and not there"))
        elif (found := file_digest(there[name])) != digest:
            message = f"its SHA-256 is {found}, {digest} is listed"
            findings.append(_finding("sums-changed", name, message))
    unlisted = sorted(there.keys() - listed.keys() - {SUMS, *others})
    findings += [_finding("sums-unlisted", name, "it is there and not listed") for name in unlisted]
    return tuple(findings)


def _is_safe(name: str) -> bool:
    path = PurePosixPath(name)
    odd = any(not char.isprintable() or char == "\\" for char in name)
    same = path.as_posix() == name and name not in ("", ".")
    return same and not odd and not path.is_absolute() and ".." not in path.parts


def _finding(check: str, subject: str, message: str) -> Finding:
    remedy = "do not use these files; fetch or publish them again"
    return Finding(check=check, subject=subject, message=message, remedy=remedy)
