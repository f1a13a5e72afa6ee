"""Whether a release's branch has only what main has, and what the policy lets it have."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from gauntlet.core.findings import Finding
from gauntlet.core.git import find_commit
from gauntlet.release.picks.history import Change, changes, one_change, patches
from gauntlet.release.picks.rules import AllowRule
from gauntlet.release.remote import is_ancestor
from gauntlet.release.state import Pick

_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchCommit:
    """One commit that the branch has and main has not, and its counterpart there.

    ``same``: the same patch; ``adapted``: it names its source, and differs from it; ``foreign``:
    it names a source with which it shares no file; ``untrue``: it names one that main does not
    have; ``none``: nothing on main is like it.
    """

    change: Change
    kind: Literal["same", "adapted", "foreign", "untrue", "none"]
    source: str = ""
    source_change: Change | None = None

    @property
    def has_counterpart(self) -> bool:
        """Whether main has it."""
        return self.kind in ("same", "adapted")


def read_branch(repository: Path, *, cut: str, head: str, main: str) -> tuple[BranchCommit, ...]:
    """Read what a branch has since its cut that main has not, in the order of the branch."""
    own = changes(repository, f"{cut}..{head}", f"^{main}")
    named = {c.sha: _named_source(repository, c, main) for c in own}
    sources = {sha: one_change(repository, found) for sha, found in named.items() if found}
    wanted = {*(c.sha for c in own), *(change.sha for change in sources.values())}
    known = patches(repository, sorted(wanted))
    nameless = [c for c in own if not c.sources and not c.is_merge and known[c.sha]]
    by_patch = _main_by_patch(repository, cut, main, nameless)
    found = []
    for change in own:
        source = sources.get(change.sha)
        if change.sources:
            found.append(_with_source(change, source, known))
        elif (twin := by_patch.get(known[change.sha])) is not None and known[change.sha]:
            found.append(BranchCommit(change=change, kind="same", source=twin))
        else:
            found.append(BranchCommit(change=change, kind="none"))
    return tuple(found)


def branch_findings(
    commits: Iterable[BranchCommit], allow: Sequence[AllowRule]
) -> tuple[Finding, ...]:
    """Judge a branch: every commit has its counterpart on main, or stands on the allow-list."""
    found = []
    for commit in commits:
        finding = _finding(commit)
        if finding is not None and not (
            finding.level == "error" and any(allows(rule, commit.change) for rule in allow)
        ):
            found.append(finding)
    return tuple(found)


def check_branch(
    repository: Path, *, cut: str, head: str, main: str, allow: Sequence[AllowRule]
) -> tuple[Finding, ...]:
    """Judge the branch at ``head``; all three commits are in this clone."""
    if not is_ancestor(repository, cut, head):
        message = f"the branch does not have the commit that it was cut at, {cut}"
        remedy = "it was rewritten: find out by whom"
        return (
            Finding(check="branch-rewritten", subject=head[:10], message=message, remedy=remedy),
        )
    return branch_findings(read_branch(repository, cut=cut, head=head, main=main), allow)


def picks_of(commits: Iterable[BranchCommit]) -> tuple[Pick, ...]:
    """The picks that a branch has, as git tells them; what the branch itself took back is gone."""
    own = list(commits)
    gone = {sha for commit in own for sha in commit.change.reverts}
    return tuple(
        Pick(
            source=commit.source,
            applied=commit.change.sha,
            title=commit.change.title,
            pull_request=commit.change.pull_request,
        )
        for commit in own
        if commit.has_counterpart and not any(commit.change.sha.startswith(sha) for sha in gone)
    )


def _named_source(repository: Path, change: Change, main: str) -> str:
    """The commit of main that a pick names; of several the one that main has."""
    for source in change.sources:
        if find_commit(repository, source) and is_ancestor(repository, source, main):
            return source
    return ""


def _with_source(change: Change, source: Change | None, known: dict[str, str]) -> BranchCommit:
    if source is None:
        return BranchCommit(change=change, kind="untrue", source=change.sources[0])
    kind: Literal["same", "adapted", "foreign"] = "adapted"
    if known[change.sha] == known[source.sha]:
        kind = "same"
    elif not set(change.paths) & set(source.paths):
        kind = "foreign"
    return BranchCommit(change=change, kind=kind, source=source.sha, source_change=source)


def _main_by_patch(
    repository: Path, cut: str, main: str, nameless: Sequence[Change]
) -> dict[str, str]:
    """Commits of main since the cut by their patch, those that could be a counterpart."""
    if not nameless:
        return {}
    paths = {change.paths for change in nameless}
    alike = [
        change.sha for change in changes(repository, f"{cut}..{main}") if change.paths in paths
    ]
    return {patch: sha for sha, patch in patches(repository, alike).items() if patch}


def _finding(commit: BranchCommit) -> Finding | None:
    change, source = commit.change, commit.source[:10]
    subject = change.named
    if commit.kind == "same":
        return None
    if commit.kind == "adapted" and commit.source_change is not None:
        more = sorted(set(change.paths) - set(commit.source_change.paths))
        tail = f", and changes {_some(more)} besides" if more else ""
        message = f"it is {source} of main, adapted{tail}"
        remedy = "read it: it is not what was tested on main"
        return Finding(
            check="branch-adapted", subject=subject, message=message, remedy=remedy, level="warning"
        )
    remedy = "land it on main and pick it, or let the policy's allow say that it may be here"
    if commit.kind == "foreign":
        message = f"it says that it is {source} of main, and shares no file with that"
    elif commit.kind == "untrue":
        message = f"it says that it was picked from {source}, which main does not have"
    elif change.is_merge:
        message = "it is a merge: a release's branch takes single changes"
        remedy = "take it off the branch, and pick what is needed of it"
    else:
        message = f"main has nothing like it; it changes {_some(change.paths) or 'nothing'}"
    check = "branch-merge" if change.is_merge else "branch-not-on-main"
    return Finding(check=check, subject=subject, message=message, remedy=remedy)


def allows(rule: AllowRule, change: Change) -> bool:
    """Whether a rule lets a branch have a commit; never a merge, or one that changes nothing."""
    if change.is_merge or not change.paths or not re.fullmatch(rule.subject, change.subject):
        return False
    return all(any(fnmatchcase(path, glob) for glob in rule.paths) for path in change.paths)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"
