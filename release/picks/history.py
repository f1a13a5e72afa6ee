"""Commits as git has them: order, messages, paths, and what their patches say."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from gauntlet.core.git import git

_START, _FIELD = "\x1e", "\x1f"
_FORMAT = f"{_START}{_FIELD.join(('%H', '%P', '%an', '%aE', '%ct', '%s', '%b'))}{_FIELD}"
_PICKED = re.compile(r"^\(cherry picked from commit ([0-9a-f]{40,64})\)\s*$", re.MULTILINE)
_REVERTS = re.compile(r"This reverts commit ([0-9a-f]{7,64})")
_NUMBER = re.compile(r"\(#(\d+)\)\s*$")
_MERGED = re.compile(r"^Merge pull request #(\d+) ")
# What a reader's own settings could change in a patch.
_PATCH = (
    "-p", "-U3", "--binary", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv",
    "--no-color", "--diff-algorithm=myers", "--src-prefix=a/", "--dst-prefix=b/",
    "--submodule=short", "--ignore-submodules=none",
)  # fmt: skip
_AT_ONCE = 200
_TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One commit, and what its message says; ``paths`` are those that it changed."""

    sha: str
    parents: tuple[str, ...]
    author: str
    email: str
    committed_at: datetime
    subject: str
    body: str
    paths: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What it is about; of a merge made by the code host that is in the body."""
        if _MERGED.match(self.subject) and self.body.strip():
            return self.body.strip().splitlines()[0]
        return self.subject

    @property
    def pull_request(self) -> int | None:
        """The pull request that it came by, where the message says so."""
        found = _NUMBER.search(self.subject) or _MERGED.match(self.subject)
        return int(found[1]) if found else None

    @property
    def sources(self) -> tuple[str, ...]:
        """Commits that it says it was picked from, the last pick first."""
        return tuple(reversed(_PICKED.findall(self.body)))

    @property
    def reverts(self) -> tuple[str, ...]:
        """Commits that it says it takes back; ids may be short."""
        return tuple(_REVERTS.findall(self.body))

    @property
    def is_merge(self) -> bool:
        """Whether it has several parents."""
        return len(self.parents) > 1

    @property
    def named(self) -> str:
        """Short id and title, for people."""
        return f"{self.sha[:10]} {self.title}"


def changes(repository: Path, *revisions: str, first_parent: bool = False) -> tuple[Change, ...]:
    """Commits of a range, parents before their children; a merge's paths are what it brought."""
    # Without --first-parent a merge would be compared with each parent.
    compare = ("--first-parent",) if first_parent else ("--diff-merges=first-parent",)
    text = git(
        repository, "log", "--topo-order", "--reverse", *compare, "--name-only", "--no-renames",
        "-z", f"--format={_FORMAT}", *revisions, "--", timeout=_TIMEOUT_S,
    )  # fmt: skip
    return tuple(_change(record) for record in text.split(_START)[1:])


def one_change(repository: Path, sha: str) -> Change:
    """One commit. Raises UsageError where this clone does not hold it."""
    return changes(repository, "--no-walk", sha)[0]


def patches(repository: Path, shas: Sequence[str]) -> dict[str, str]:
    """What each commit changes, as a digest without line numbers; empty where it changes nothing.

    Two commits have the same where they make the same change in the same surroundings: what git
    calls a patch id, but with binary files and white space. A merge is what it brought.
    """
    found: dict[str, str] = {}
    for start in range(0, len(shas), _AT_ONCE):
        text = git(
            repository, "log", "--no-walk=unsorted", "--diff-merges=first-parent", *_PATCH,
            f"--format={_START}%H", *shas[start : start + _AT_ONCE], "--", timeout=_TIMEOUT_S,
        )  # fmt: skip
        for record in text.split(f"{_START}")[1:]:
            sha, _, patch = record.partition("\n")
            found[sha.strip()] = _digest(patch)
    return found


def _digest(patch: str) -> str:
    lines, binary = [], "GIT binary patch" in patch
    for line in patch.strip("\n").split("\n"):
        if line.startswith("@@ "):
            lines.append("@@")
        elif not line.startswith("index ") or binary:
            lines.append(line)
    text = "\n".join(lines)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest() if text else ""


def _change(record: str) -> Change:
    sha, parents, author, email, when, subject, rest = record.split(_FIELD, 6)
    body, _, paths = rest.rpartition(_FIELD)
    return Change(
        sha=sha,
        parents=tuple(parents.split()),
        author=author,
        email=email.lower(),
        committed_at=datetime.fromtimestamp(int(when), UTC),
        subject=subject,
        body=body,
        paths=tuple(path for path in paths.replace("\n", "").split("\0") if path),
    )
