"""Read a git checkout with the ``git`` binary; nothing here writes to it."""

import os
from dataclasses import dataclass
from pathlib import Path

from gauntlet.core.errors import UsageError
from gauntlet.core.proc import CommandError, run

_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NameStatus:
    """One line of ``git diff --name-status``: a status letter, the path, the path it came from."""

    status: str
    path: str
    old_path: str | None = None


def git(repository: Path, *arguments: str) -> str:
    """Run one read-only git command and return its standard output.

    Raises UsageError where git refuses (no repository, unknown revision).
    """
    # Optional locks would let a mere ``status`` or ``diff`` refresh the index, which is a write.
    env = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C", "GIT_PAGER": ""}
    try:
        return run(["git", "-C", str(repository), *arguments], timeout=_TIMEOUT_S, env=env).stdout
    except CommandError as error:
        if error.result is None:
            raise
        # Some refusals are followed by the whole usage text.
        said = error.result.stderr.strip().splitlines()
        reason = said[0] if said else f"exit status {error.result.returncode}"
        msg = f"git {' '.join(arguments)} in {repository}: {reason}"
        raise UsageError(msg, hint="check the folder and the revision range") from error


def name_status(repository: Path, revision_range: str) -> list[NameStatus]:
    """Changed files of ``BASE..HEAD`` or ``BASE...HEAD``, both sides of renames and copies.

    Raises UsageError for a range that git does not know or that reads as an option.
    """
    if revision_range.startswith("-") or ".." not in revision_range:
        msg = f"not a revision range: {revision_range!r}"
        raise UsageError(msg, hint="write BASE..HEAD, or BASE...HEAD for the merge base")
    raw = git(repository, "diff", "--name-status", "-z", "-M", "-C", revision_range, "--")
    return parse_name_status(raw)


def parse_name_status(raw: str) -> list[NameStatus]:
    """Parse the NUL-separated form (``-z``): ``M NUL path NUL``, ``R100 NUL old NUL new NUL``."""
    fields = iter(raw.split("\0"))
    entries = []
    for field in fields:
        if not field:
            continue
        letter = field[0]
        if letter in "RC":
            old = next(fields)
            entries.append(NameStatus(status=letter, path=next(fields), old_path=old))
        else:
            entries.append(NameStatus(status=letter, path=next(fields)))
    return entries
