"""What git says of a release's branch and of main since the cut."""

from collections.abc import Iterable
from dataclasses import dataclass

from gauntlet.core.errors import NotQualifiedError
from gauntlet.core.git import find_commit, git
from gauntlet.release.picks.check import BranchCommit, read_branch
from gauntlet.release.picks.history import Change, changes, one_change, patches
from gauntlet.release.picks.plan import Facts, Wanted
from gauntlet.release.remote import Remote, is_ancestor
from gauntlet.release.state import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a release stands: main, the head of its branch, and what it has since the cut."""

    main_head: str
    main: tuple[Change, ...]
    head: str
    branch: tuple[BranchCommit, ...]


def look_at_branch(remote: Remote, state: Release) -> Standing:
    """Look at main and the release's branch at the remote, and bring both here.

    Raises NotQualifiedError where the branch is gone, or was rewritten.
    """
    repository, cut = remote.repository, state.cut.commit
    main_head = remote.fetch_base()
    ref = f"refs/heads/{state.branch}"
    head = remote.heads(ref).get(ref, (None, None))[1]
    if head is None:
        msg = f"{remote.name} has no branch {state.branch}"
        hint = f"release cut {state.version} says what became of it"
        raise NotQualifiedError(msg, hint=hint)
    remote.fetch(ref, head)
    if not is_ancestor(repository, cut, head):
        msg = f"{state.branch} is at {head} and does not have {cut}, where it was cut"
        raise NotQualifiedError(msg, hint="it was rewritten: find out by whom")
    return Standing(
        main_head=main_head,
        main=changes(repository, f"{cut}..{main_head}"),
        head=head,
        branch=read_branch(repository, cut=cut, head=head, main=main_head),
    )


def facts_of(remote: Remote, standing: Standing, wanted: Iterable[Wanted], cut: str) -> Facts:
    """What the plan needs to know of what is wanted."""
    repository = remote.repository
    shas = sorted({w.sha for w in wanted if w.sha and find_commit(repository, w.sha)})
    on_main = {change.sha: change for change in standing.main}
    before = frozenset(sha for sha in shas if is_ancestor(repository, sha, cut))
    brought: dict[str, str] = {}
    for sha in shas:
        if sha in on_main and on_main[sha].is_merge:
            inner = git(repository, "rev-list", f"{sha}^1..{sha}").split()
            brought |= {each: sha for each in inner if each != sha}
    own = [commit.change.sha for commit in standing.branch]
    others = [sha for sha in shas if sha not in on_main and sha not in before]
    return Facts(
        main=standing.main,
        before=before,
        branch=standing.branch,
        patches=patches(repository, sorted({*shas, *own})),
        others={sha: one_change(repository, sha) for sha in others},
        brought=brought,
    )
