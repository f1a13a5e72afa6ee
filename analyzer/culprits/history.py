"""The commits that are under suspicion: first parents from a good commit to a bad one."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from gauntlet.analyzer.culprits.model import Commit
from gauntlet.core.errors import UsageError
from gauntlet.core.git import find_commit, git, is_shallow, merge_base

_TIMEOUT_S = 300.0
_SHORT = 10
# Neither can stand in a message: git refuses NUL, and the others are control characters.
_START, _FIELD = "\x1e", "\x1f"
_FORMAT = _START + _FIELD.join(("%H", "%P", "%an", "%ct", "%s", "%b")) + _FIELD
_PULL_REQUEST = re.compile(r"\(#(\d+)\)\s*$|^Merge pull request #(\d+)\b")
_REVERTS = re.compile(r"This reverts commit ([0-9a-f]{7,64})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Commits after ``good``, oldest first; the last is the bad one.

    ``good`` is the first parent of the oldest: the good commit itself, or one of its ancestors
    where that came in by a merge.
    """

    good: Commit
    commits: tuple[Commit, ...]

    @property
    def bad(self) -> Commit:
        """The newest commit, which fails."""
        return self.commits[-1]


def short(sha: str) -> str:
    """A commit id as it is written in a sentence."""
    return sha[:_SHORT]


def read_range(repository: Path, good: str, bad: str) -> Range:
    """Read the range of a bisect. Raises UsageError where it is none, with the remedy."""
    old, new = _commit(repository, good, "--good"), _commit(repository, bad, "--bad")
    if old == new:
        msg = f"--good {good} and --bad {bad} are the same commit, {short(old)}"
        hint = (
            "the same commit both passed and failed, so no commit did it: compare packages, "
            "images, drivers and hosts of the two runs, or run it again to see whether it is flaky"
        )
        raise UsageError(msg, hint=hint)
    base = merge_base(repository, old, new)
    if base != old:
        raise _not_an_ancestor(repository, good, bad, base, new)
    commits = _log(repository, f"{old}..{new}")
    parent = git(repository, "rev-parse", "--verify", f"{commits[0].sha}^1").strip()
    (start,) = _log(repository, parent, "--max-count=1")
    return Range(good=start, commits=tuple(commits))


def _commit(repository: Path, revision: str, option: str) -> str:
    git(repository, "rev-parse", "--git-dir")
    found = find_commit(repository, revision)
    if found is None:
        hint = "git fetch --unshallow" if is_shallow(repository) else "git fetch, or check the name"
        raise UsageError(f"{option}: {repository} has no commit {revision!r}", hint=hint)
    return found


def _not_an_ancestor(
    repository: Path, good: str, bad: str, base: str | None, new: str
) -> UsageError:
    msg = f"--good {good} is not an ancestor of --bad {bad}"
    if base is None:
        hint = "git fetch --unshallow" if is_shallow(repository) else "they share no history"
        return UsageError(msg, hint=f"no merge base is known: {hint}")
    if base == new:
        hint = "the bad commit is older than the good one: change them, or look for what fixed it"
        return UsageError(f"{msg}, but the other way round", hint=hint)
    hint = f"their merge base is {short(base)}: check that it passes, and give it as --good"
    return UsageError(msg, hint=hint)


def _log(repository: Path, revisions: str, *options: str) -> list[Commit]:
    text = git(
        repository,
        "log",
        "--first-parent",
        "-m",
        "--reverse",
        "--numstat",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        "--no-show-signature",
        "-z",
        f"--format={_FORMAT}",
        *options,
        revisions,
        "--",
        timeout=_TIMEOUT_S,
    )
    return [_parsed(record) for record in text.split(_START)[1:]]


def _parsed(record: str) -> Commit:
    sha, _parents, author, when, title, body, rest = record.split(_FIELD, 6)
    rows = [row.strip("\n").split("\t", 2) for row in rest.split("\0")]
    changed = [row for row in rows if len(row) == 3]
    number, reverts = _PULL_REQUEST.search(title), _REVERTS.search(body)
    return Commit(
        sha=sha,
        title=title,
        author=author,
        committed_at=datetime.fromtimestamp(int(when), UTC),
        pull_request=int(number[1] or number[2]) if number else None,
        paths=tuple(path for _, _, path in changed),
        # Binary files have no lines, and are written as "-".
        lines_changed=sum(int(n) for row in changed for n in row[:2] if n.isdecimal()),
        reverts=reverts[1] if reverts else None,
    )
