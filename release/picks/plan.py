"""What is to be picked, in which order, and what becomes of the rest. Pure: facts in, plan out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from gauntlet.release.picks.check import BranchCommit
from gauntlet.release.picks.history import Change

Status = Literal[
    "picks", "present", "empty", "reverted", "conflict", "not-on-main", "not-merged", "unknown"
]
UNPICKED: frozenset[Status] = frozenset({"conflict", "not-on-main", "not-merged", "unknown"})
"""What was asked for and does not come: a person has to see to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One change that is asked for: by its commit, or a pull request that has none yet."""

    name: str
    """As it was asked for: an id, or #123."""
    sha: str = ""
    labels: tuple[str, ...] = ()
    objection: str = ""
    """Why there is no commit to pick; such as a pull request that is still open."""
    kind: Literal["not-merged", "unknown"] = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One change with what becomes of it; ``applied`` is its commit on the branch."""

    name: str
    status: Status
    reason: str
    change: Change | None = None
    labels: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    applied: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What git says: main since the cut, oldest first, and what the branch has of its own."""

    main: tuple[Change, ...]
    before: frozenset[str]
    """Those of the wanted commits that the branch was cut with."""
    branch: tuple[BranchCommit, ...]
    patches: Mapping[str, str]
    """Patches of the wanted commits and of the branch's own."""
    others: Mapping[str, Change] = field(default_factory=dict)
    """Wanted commits that main does not have."""
    brought: Mapping[str, str] = field(default_factory=dict)
    """Commits that come with a wanted merge, and that merge."""


def triage(wanted: Iterable[Wanted], facts: Facts) -> tuple[Item, ...]:
    """Put what is wanted into main's order, and say what needs no try.

    What is to be tried has the status ``picks``. What cannot be ordered comes last.
    """
    order = {change.sha: place for place, change in enumerate(facts.main)}
    unique: dict[str, Wanted] = {}
    for want in wanted:
        key = want.sha or want.name
        # Asked for twice, by label and by id, it has the labels of either.
        known = unique.get(key, want)
        labels = tuple(dict.fromkeys((*known.labels, *want.labels)))
        unique[key] = Wanted(
            name=known.name, sha=want.sha, labels=labels, objection=want.objection, kind=want.kind
        )
    chosen = {want.sha for want in unique.values() if want.sha in order}
    ordered = sorted(unique.values(), key=lambda want: (order.get(want.sha, len(order)), want.name))
    return tuple(_item(want, facts, order, chosen) for want in ordered)


def _item(want: Wanted, facts: Facts, order: Mapping[str, int], chosen: set[str]) -> Item:
    place = order.get(want.sha)
    change = facts.main[place] if place is not None else facts.others.get(want.sha)
    status: Status = want.kind
    reason = want.objection
    if not want.objection:
        status, reason = _fate(want, change, place, facts, chosen)
    notes = _notes(change, facts) if change is not None and status == "picks" else ()
    return Item(
        name=want.name,
        status=status,
        reason=reason,
        change=change,
        labels=want.labels,
        notes=notes,
    )


def _fate(
    want: Wanted, change: Change | None, place: int | None, facts: Facts, chosen: set[str]
) -> tuple[Status, str]:
    """What becomes of a change, and why."""
    if want.sha in facts.before:
        return "present", "the branch was cut with it"
    if place is None or change is None:
        return "not-on-main", "main does not have it: only what landed there is picked"
    if had := _had(change, facts):
        return "present", had
    if not facts.patches.get(change.sha):
        return "empty", "it changes nothing"
    return _if_reverted(_reverted(change.sha, facts.main[place + 1 :]), facts, chosen)


def _if_reverted(revert: Change | None, facts: Facts, chosen: set[str]) -> tuple[Status, str]:
    """What becomes of a change that would be picked, with what main did to it later."""
    if revert is None:
        return "picks", ""
    if revert.sha in chosen or _on_branch(revert, facts):
        return "picks", f"and so is its revert {revert.sha[:10]}"
    return "reverted", f"main took it back: {revert.named}"


def _had(change: Change, facts: Facts) -> str:
    """How the branch has a change, or gets it with another one; empty where it does not."""
    merge = facts.brought.get(change.sha)
    return _on_branch(change, facts) or (f"it comes with the merge {merge[:10]}" if merge else "")


def _on_branch(change: Change, facts: Facts) -> str:
    """How the branch has a change already; empty where it has not, or took it back itself."""
    gone = {sha for commit in facts.branch for sha in commit.change.reverts}
    patch = facts.patches.get(change.sha)
    for commit in facts.branch:
        own = commit.change.sha
        if any(own.startswith(sha) for sha in gone):
            continue
        if change.sha in commit.change.sources:
            return f"picked already, as {own[:10]}"
        if patch and facts.patches.get(own) == patch:
            return f"the branch has the same change, as {own[:10]}"
    return ""


def _reverted(sha: str, later: Sequence[Change]) -> Change | None:
    """The commit that took a change back and was not taken back in its turn."""
    gone: Change | None = None
    target, undone = sha, False
    for change in later:
        if any(target.startswith(reverted) for reverted in change.reverts):
            target, undone = change.sha, not undone
            gone = change if undone else None
    return gone


def _notes(change: Change, facts: Facts) -> tuple[str, ...]:
    notes = []
    for commit in facts.branch:
        if commit.kind == "same":
            continue
        shared = sorted(set(commit.change.paths) & set(change.paths))
        if shared:
            own = "adapted" if commit.has_counterpart else "changed"
            notes.append(
                f"touches {', '.join(shared[:3])}, which {commit.change.sha[:10]} {own}"
                " on the branch alone"
            )
    if change.is_merge:
        notes.append("it is a merge: what it brought to main is picked as one commit")
    return tuple(notes)
