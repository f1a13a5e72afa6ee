"""Read a git checkout with the ``git`` binary; nothing here writes to the working tree.

Names that are not UTF-8 come back with their odd bytes as ``\\xNN``: readable, and still told
apart.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from gauntlet.core.errors import InfrastructureError, UsageError
from gauntlet.core.proc import CommandError, run

_TIMEOUT_S = 60.0
_FETCH_TIMEOUT_S = 300.0
# A diff between two releases of a large tree names some ten thousand files: about a megabyte.
_LIMIT = 256 << 20
# What the reader's own settings could change: order, rename detection, what counts as changed.
_DIFF = ("diff-tree", "-r", "-z", "--name-status", "-M", "-C", "--no-ext-diff", "--no-relative")


@dataclass(frozen=True, slots=True, kw_only=True)
class NameStatus:
    """One line of ``git diff --name-status``: a status letter, the path, the path it came from."""

    status: str
    path: str
    old_path: str | None = None


def git(
    repository: Path,
    *arguments: str,
    timeout: float = _TIMEOUT_S,
    errors: str = "backslashreplace",
) -> str:
    """Run one git command that leaves the working tree alone; return its standard output.

    Raises UsageError where git refuses (no repository, unknown revision).
    """
    # Optional locks would let a mere ``status`` or ``diff`` refresh the index, which is a write;
    # a prompt for a password would wait for nobody.
    env = {
        **os.environ,
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_PAGER": "",
        "LC_ALL": "C",
    }
    argv = ["git", "-C", str(repository), *arguments]
    try:
        done = run(argv, timeout=timeout, env=env, limit=_LIMIT, errors=errors)
    except CommandError as error:
        if error.result is None:
            raise
        # Some refusals are followed by the whole usage text.
        said = error.result.stderr.strip().splitlines()
        reason = said[0] if said else f"exit status {error.result.returncode}"
        msg = f"git {' '.join(arguments)} in {repository}: {reason}"
        raise UsageError(msg, hint="check the folder and the revision range") from error
    if done.truncated:
        msg = f"git {' '.join(arguments)} in {repository}: more than {_LIMIT >> 20} MiB of output"
        raise InfrastructureError(msg, hint="this is no diff that a build can be chosen by")
    return done.stdout


def find_commit(repository: Path, revision: str) -> str | None:
    """Return the full id of a commit, or None where this clone does not hold it."""
    if revision.startswith("-"):
        return None
    try:
        found = git(repository, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
        # A shallow clone knows the names of parents that it does not hold.
        git(repository, "cat-file", "-e", found.strip())
    except UsageError:
        return None
    return found.strip()


def is_shallow(repository: Path) -> bool:
    """Whether a clone holds only part of the history."""
    return git(repository, "rev-parse", "--is-shallow-repository").strip() == "true"


def merge_base(repository: Path, one: str, other: str) -> str | None:
    """Return the commit at which two histories part, or None where this clone shows none."""
    try:
        return git(repository, "merge-base", one, other).strip() or None
    except UsageError:
        return None


def fetch(repository: Path, *arguments: str) -> None:
    """Fetch into the object store; the working tree and the index stay as they are.

    Raises UsageError where the remote or the network refuses.
    """
    options = ("--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--quiet")
    git(repository, "fetch", *options, *arguments, timeout=_FETCH_TIMEOUT_S)


def split_range(revision_range: str) -> tuple[str, str, bool]:
    """Split ``BASE..HEAD`` or ``BASE...HEAD``; the last value asks for their merge base.

    Raises UsageError for text that is no range, or that git would read as an option.
    """
    dots = "..." if "..." in revision_range else ".."
    base, found, head = revision_range.partition(dots)
    if not found or not base or base.startswith("-") or head.startswith("-"):
        msg = f"not a revision range: {revision_range!r}"
        raise UsageError(msg, hint="write BASE..HEAD, or BASE...HEAD for the merge base")
    return base, head or "HEAD", dots == "..."


def name_status(repository: Path, base: str, head: str) -> list[NameStatus]:
    """Files that differ between two commits, both sides of renames and copies.

    Compares trees, so the history between the two does not matter. A changed mode, a changed
    type and another commit of a submodule are changes of their path. Raises UsageError for a
    commit that git does not know.
    """
    submodules = "--ignore-submodules=none"
    return parse_name_status(git(repository, *_DIFF, submodules, base, head, "--"))


def parse_name_status(raw: str) -> list[NameStatus]:
    """Parse the NUL-separated form (``-z``): ``M NUL path NUL``, ``R100 NUL old NUL new NUL``.

    Raises UsageError where the text ends in the middle of an entry.
    """
    fields = iter(raw.split("\0"))
    entries = []
    for field in fields:
        if not field:
            continue
        letter = field[0]
        old = next(fields, "") if letter in "RC" else None
        path = next(fields, "")
        if not path or old == "":
            msg = "the list of changes ends in the middle of an entry"
            hint = "give the whole output of git diff --name-status -z"
            raise UsageError(msg, hint=hint)
        entries.append(NameStatus(status=letter, path=path, old_path=old))
    return entries
