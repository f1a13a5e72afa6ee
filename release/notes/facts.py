"""What git says was merged between two releases."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gauntlet.core.errors import UsageError
from gauntlet.core.git import find_commit, git, is_shallow, merge_base
from gauntlet.release.notes.merged import Merged
from gauntlet.release.picks.check import BranchCommit, branch_findings, picks_of, read_branch
from gauntlet.release.picks.history import Change, changes
from gauntlet.release.picks.rules import AllowRule

_MOST = 500
"""Commits that are listed of a history that no release ends."""
_TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Changes of a release, parents before children; ``known`` e-mails were there before it."""

    changes: tuple[Merged, ...]
    known: frozenset[str] | None
    earlier: int = 0


def read_history(
    repository: Path, *, previous: str, cut: str, head: str, allow: Sequence[AllowRule] = ()
) -> History:
    """Read what ``head`` has and the ``previous`` release has not.

    What the branch may have of its own by the policy (``allow``) was merged by nobody, and is
    left out; so is what the previous release had as a pick. Without a previous release the newest
    commits are listed. Raises UsageError where this clone does not hold the history.
    """
    if is_shallow(repository):
        msg = f"{repository} is a shallow clone: what was merged cannot be followed"
        raise UsageError(msg, hint="git fetch --unshallow")
    for commit in filter(None, (previous, cut, head)):
        if find_commit(repository, commit) is None:
            msg = f"{repository} has no commit {commit}"
            raise UsageError(msg, hint="git fetch --tags origin; is it the right --repository?")
    base = merge_base(repository, previous, head) if previous else None
    own = _allowed(changes(repository, f"{cut}..{head}"), allow)
    if base is None:
        found = _main_line(changes(repository, f"--max-count={_MOST}", head), head)
        number = _count(repository, "--first-parent", head) - len(found)
        kept = tuple(each for each in found if each.change.sha not in own)
        return History(changes=kept, known=None, earlier=number)
    old = own | _released(repository, base=base, previous=previous, head=head)
    found = _main_line(changes(repository, f"{previous}..{head}"), head)
    return History(
        changes=tuple(each for each in found if not each.ids & old),
        known=_emails(repository, previous),
    )


def _main_line(found: Sequence[Change], head: str) -> tuple[Merged, ...]:
    """Commits as changes of the main line, each merge with what it brought."""
    order = {change.sha: place for place, change in enumerate(found)}
    line = []
    at = head
    while at in order:
        change = found[order[at]]
        line.append(change)
        at = change.parents[0] if change.parents else ""
    taken = {change.sha for change in line}
    merged = []
    for change in reversed(line):
        brought: list[int] = []
        waiting = list(change.parents[1:])
        while waiting:
            sha = waiting.pop()
            if sha in order and sha not in taken:
                taken.add(sha)
                brought.append(order[sha])
                waiting += found[order[sha]].parents
        inner = (found[place] for place in sorted(brought))
        merged.append(Merged(change=change, inner=tuple(c for c in inner if not c.is_merge)))
    return tuple(merged)


def _allowed(own: Iterable[Change], allow: Sequence[AllowRule]) -> set[str]:
    """Commits of the branch alone that the policy allows there: the version bump."""
    return {
        change.sha
        for change in own
        if not change.sources
        and not branch_findings([BranchCommit(change=change, kind="none")], allow)
    }


def _released(repository: Path, *, base: str, previous: str, head: str) -> set[str]:
    """Commits of ``head`` that the previous release had as picks on its own branch."""
    picked = picks_of(read_branch(repository, cut=base, head=previous, main=head))
    return {pick.source for pick in picked}


def _emails(repository: Path, commit: str) -> frozenset[str]:
    text = git(repository, "log", "--format=%aE", commit, "--", timeout=_TIMEOUT_S)
    return frozenset(line.lower() for line in text.splitlines())


def _count(repository: Path, *revisions: str) -> int:
    return int(git(repository, "rev-list", "--count", *revisions, "--", timeout=_TIMEOUT_S))
