"""Try picks in a worktree of their own: what applies is made for good, and pushed nowhere.

The commits are the same whenever and wherever they are made: author and both times are those of
the change on main, the committer is a constant. A conflict is for people, whatever git may have
learned of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gauntlet.core.errors import InfrastructureError
from gauntlet.core.git import git
from gauntlet.release.picks.history import Change
from gauntlet.release.picks.plan import Item
from gauntlet.services.git_writing import refusal, try_git, worktree, write_git

# What needs this many unpicked changes is no fix any more.
_MOST_DEPENDED = 8
_PLAIN = ("-c", "rerere.enabled=false", "-c", "merge.renames=true")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """Items after the try, and the head of the branch with all that applied."""

    items: tuple[Item, ...]
    head: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """How one pick ended: its commit, or the files in conflict, or neither: it was empty."""

    commit: str = ""
    conflicts: tuple[str, ...] = ()


def try_picks(repository: Path, head: str, items: Sequence[Item], main: Sequence[Change]) -> Tried:
    """Apply what is to be picked on top of ``head``, in order; what conflicts is left out.

    ``main`` is main since the cut, oldest first: for a conflict the changes of it are found that
    have to come before.
    """
    if not any(item.status == "picks" for item in items):
        return Tried(items=tuple(items), head=head)
    found = []
    with worktree(repository, head) as tree:
        for item in items:
            if item.status != "picks" or item.change is None:
                found.append(item)
                continue
            outcome = _pick(tree, item.change)
            if outcome.commit:
                head = outcome.commit
                found.append(replace(item, applied=head))
            elif outcome.conflicts:
                found.append(_stuck(repository, tree, head, item, outcome.conflicts, main))
                write_git(tree, "reset", "--hard", "--quiet", head)
            else:
                reason = "the branch has its effect already"
                found.append(replace(item, status="empty", reason=reason))
    return Tried(items=tuple(found), head=head)


def _pick(tree: Path, change: Change) -> _Outcome:
    """Pick one change; where it does not apply the tree is as before."""
    mainline = ("-m", "1") if change.is_merge else ()
    stamp = f"{int(change.committed_at.timestamp())} +0000"
    environment = {
        "GIT_COMMITTER_NAME": "Gauntlet",
        "GIT_COMMITTER_EMAIL": "gauntlet@localhost",
        "GIT_COMMITTER_DATE": stamp,
        "GIT_EDITOR": "true",
        "LC_ALL": "C",
    }
    done = try_git(
        tree, *_PLAIN, "cherry-pick", "-x", *mainline, change.sha, environment=environment
    )
    if done.returncode == 0:
        return _Outcome(commit=git(tree, "rev-parse", "HEAD").strip())
    status = git(tree, "diff", "--name-only", "-z", "--diff-filter=U")
    conflicts = tuple(sorted(path for path in status.split("\0") if path))
    if not conflicts and "is now empty" not in done.stderr + done.stdout:
        raise InfrastructureError(f"git cherry-pick {change.sha[:10]}: {refusal(done)}")
    write_git(tree, "cherry-pick", "--abort")
    return _Outcome(conflicts=conflicts)


def _stuck(
    repository: Path,
    tree: Path,
    head: str,
    item: Item,
    conflicts: tuple[str, ...],
    main: Sequence[Change],
) -> Item:
    change = item.change
    if change is None:
        return item
    needed = _needed(repository, tree, head, change, main)
    files = ", ".join(conflicts)
    if needed:
        names = ", ".join(each.named for each in needed)
        reason = f"conflict in {files}; it depends on unpicked {names}"
    else:
        reason = f"conflict in {files}, which no unpicked change explains: a person has to pick it"
    return replace(
        item,
        status="conflict",
        reason=reason,
        conflicts=conflicts,
        depends_on=tuple(each.sha for each in needed),
    )


def _needed(
    repository: Path,
    tree: Path,
    head: str,
    change: Change,
    main: Sequence[Change],
) -> tuple[Change, ...]:
    """The fewest earlier changes of main, in order, with which a change applies; else none.

    Whatever does not apply is joined by the nearest earlier change that touched the files in
    conflict, which may need another one in its turn.
    """
    place = {each.sha: index for index, each in enumerate(main)}
    earlier = main[: place[change.sha]]
    tops = git(repository, "rev-list", "--first-parent", change.sha).split()
    line = [each for each in earlier if each.sha in set(tops)]
    chosen: list[Change] = []
    while len(chosen) <= _MOST_DEPENDED:
        stuck = _first_stuck(tree, head, (*chosen, change))
        if stuck is None:
            return _fewest(tree, head, chosen, change)
        which, files = stuck
        before = [each for each in line if place[each.sha] < place[which.sha]]
        touching = [each for each in before if set(each.paths) & set(files)]
        missing = [each for each in touching if each not in chosen]
        if not missing:
            return ()
        chosen = sorted([*chosen, missing[-1]], key=lambda each: place[each.sha])
    return ()


def _fewest(tree: Path, head: str, chosen: Sequence[Change], change: Change) -> tuple[Change, ...]:
    needed = list(chosen)
    for each in chosen:
        fewer = [other for other in needed if other is not each]
        if _first_stuck(tree, head, (*fewer, change)) is None:
            needed = fewer
    return tuple(needed)


def _first_stuck(
    tree: Path, head: str, picks: Sequence[Change]
) -> tuple[Change, tuple[str, ...]] | None:
    """Pick in order; return the first that does not apply, and the files in conflict."""
    write_git(tree, "reset", "--hard", "--quiet", head)
    for change in picks:
        outcome = _pick(tree, change)
        if outcome.conflicts:
            return change, outcome.conflicts
    return None
