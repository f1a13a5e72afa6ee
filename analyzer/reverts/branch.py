"""A branch with a revert, made in a worktree of its own; or why it does not apply, and the plan."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gauntlet.core.errors import InfrastructureError, UsageError
from gauntlet.core.git import find_commit, git
from gauntlet.services.git_writing import IDENTITY, push, refusal, try_git, worktree, write_git

# What conflicts with this many later commits is for people to untangle.
_MOST_DEPENDENT = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class RevertBranch:
    """What there is to revert, newest first, and the branch that does it.

    ``commit`` is the head of the branch, None where nothing applies. ``dependent`` are later
    commits that have to go first; with any, no branch is made: that is for a person to decide.
    ``conflicts`` are the files that stand in the way.
    """

    name: str
    culprit: str
    base: str
    commit: str | None
    dependent: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether the culprit alone can be reverted."""
        return self.commit is not None and not self.dependent

    @property
    def order(self) -> tuple[str, ...]:
        """Commits in the order in which to revert them."""
        return (*self.dependent, self.culprit)


def plan_revert(
    repository: Path, culprit: str, *, base: str, name: str, message: str, keep: bool = True
) -> RevertBranch:
    """Try a revert on top of ``base`` and ``keep`` it as a branch where it applies cleanly.

    The user's working tree and branches stay as they are, but for the new branch. Where it does
    not apply, the later commits that stand in the way are told in the order in which to revert
    them. Raises UsageError for commits that are not there, for a culprit
    that ``base`` does not have, and for a branch of that name that is something else.
    """
    culprit, base = _known(repository, culprit), _known(repository, base)
    _ensure_has(repository, base, culprit)
    with worktree(repository, base) as tree:
        conflicts = _revert(repository, tree, culprit, message)
        if not conflicts:
            commit = git(tree, "rev-parse", "HEAD").strip()
            if keep:
                commit = _keep(repository, name, commit, base, culprit)
            return RevertBranch(name=name, culprit=culprit, base=base, commit=commit)
        dependent = _dependent(repository, tree, culprit, base)
    return RevertBranch(
        name=name,
        culprit=culprit,
        base=base,
        commit=None,
        dependent=dependent,
        conflicts=conflicts,
    )


def _known(repository: Path, revision: str) -> str:
    found = find_commit(repository, revision)
    if found is None:
        hint = "git fetch, so that this clone has it"
        raise UsageError(f"{repository} has no commit {revision}", hint=hint)
    return found


def _ensure_has(repository: Path, base: str, culprit: str) -> None:
    try:
        git(repository, "merge-base", "--is-ancestor", culprit, base)
    except UsageError as error:
        msg = f"{base[:10]} does not have {culprit[:10]}: there is nothing to revert"
        raise UsageError(msg, hint="was it taken out by a forced push?") from error


def _revert(repository: Path, tree: Path, commit: str, message: str = "") -> tuple[str, ...]:
    """Revert one commit; return the files in conflict, after which the tree is as before."""
    parents = git(repository, "rev-list", "--parents", "-n", "1", commit).split()[1:]
    mainline = ("-m", "1") if len(parents) > 1 else ()
    done = try_git(tree, *IDENTITY, "revert", "--no-edit", *mainline, commit)
    if done.returncode == 0:
        if message:
            write_git(tree, *IDENTITY, "commit", "--quiet", "--amend", "-m", message)
        return ()
    status = git(tree, "diff", "--name-only", "-z", "--diff-filter=U")
    conflicts = tuple(sorted(path for path in status.split("\0") if path))
    if not conflicts:
        if "nothing to commit" in done.stdout or "is now empty" in done.stderr + done.stdout:
            hint = "its effect is gone already"
            raise UsageError(f"reverting {commit[:10]} changes nothing", hint=hint)
        raise InfrastructureError(f"git revert {commit[:10]}: {refusal(done)}")
    write_git(tree, "revert", "--abort")
    return conflicts


def _dependent(repository: Path, tree: Path, culprit: str, base: str) -> tuple[str, ...]:
    """Later commits that have to be reverted first, newest first; empty where none helps.

    Whatever does not apply is joined by the next later commit that touched the files in conflict,
    which may need another one in its turn.
    """
    later = git(repository, "rev-list", "--first-parent", f"{culprit}..{base}").split()
    chosen: list[str] = []
    while len(chosen) <= _MOST_DEPENDENT:
        chosen.sort(key=later.index)
        stuck = _stuck(repository, tree, base, (*chosen, culprit))
        if stuck is None:
            return _needed(repository, tree, base, chosen, culprit)
        commit, conflicts = stuck
        touching = _touching(repository, f"{commit}..{base}", conflicts)
        blocking = [sha for sha in reversed(touching) if sha not in chosen]
        if not blocking:
            return ()
        chosen.append(blocking[0])
    return ()


def _needed(
    repository: Path, tree: Path, base: str, chosen: Sequence[str], culprit: str
) -> tuple[str, ...]:
    """Leave out what touched the same files and yet is in nobody's way."""
    needed = list(chosen)
    for commit in chosen:
        fewer = [sha for sha in needed if sha != commit]
        if _stuck(repository, tree, base, (*fewer, culprit)) is None:
            needed = fewer
    return tuple(needed)


def _stuck(
    repository: Path, tree: Path, base: str, commits: Sequence[str]
) -> tuple[str, tuple[str, ...]] | None:
    """Revert commits in order; return the first that does not apply, and the files in conflict."""
    write_git(tree, "reset", "--hard", "--quiet", base)
    for commit in commits:
        if conflicts := _revert(repository, tree, commit):
            return commit, conflicts
    return None


def _touching(repository: Path, revisions: str, paths: Sequence[str]) -> list[str]:
    """First-parent commits of a range that touched paths, newest first."""
    listed = git(repository, "rev-list", "--first-parent", revisions, "--", *paths)
    return listed.split()


def _keep(repository: Path, name: str, commit: str, base: str, culprit: str) -> str:
    """Make the branch and return its head; one that is the same revert already is left."""
    existing = find_commit(repository, f"refs/heads/{name}")
    if existing is None:
        write_git(repository, "branch", "--no-track", name, commit)
        return commit
    body = git(repository, "log", "-1", "--format=%B", existing)
    if culprit not in body:
        msg = f"{repository} has a branch {name} already, which does not revert {culprit[:10]}"
        raise UsageError(msg, hint=f"git branch -m {name} {name}-old, and try again")
    if git(repository, "rev-parse", f"{existing}^").strip() == base:
        return existing
    write_git(repository, "branch", "--force", "--no-track", name, commit)
    return commit


def push_branch(repository: Path, remote: str, name: str) -> None:
    """Push the branch, never over something else; raises ExternalServiceError on refusal.

    The same revert that is there already is left.
    """
    push(repository, remote, f"refs/heads/{name}", f"refs/heads/{name}")
