"""Where Gauntlet's selection departs from vLLM's own rule, and why."""

from dataclasses import dataclass, replace

from gauntlet.pipelines.changes import ChangeSet
from gauntlet.pipelines.decisions import Decision, Options, Selection
from gauntlet.pipelines.definitions.job import Definitions
from gauntlet.pipelines.selection import select


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One job that only one of the two rules starts. ``added``: Gauntlet's does.

    ``kind`` names the intended difference, ``text`` says it of this job.
    """

    key: str
    added: bool
    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Both selections of one change, and every job in which they differ, sorted by key."""

    ours: Selection
    theirs: Selection
    differences: tuple[Difference, ...]


def compare_rules(
    definitions: Definitions, changes: ChangeSet, options: Options | None = None
) -> Comparison:
    """Select with both rules and explain every job that only one of them starts."""
    options = options or Options()
    ours = select(definitions, changes, replace(options, mode="default"))
    theirs = select(definitions, changes, replace(options, mode="compatible"))
    seen_by_both = {change.path for change in changes.files if change.status != "T"}
    added = set(ours.selected) - set(theirs.selected)
    dropped = set(theirs.selected) - set(ours.selected)
    found = [_added(ours.by_key[key], theirs, seen_by_both) for key in added]
    found += [_dropped(ours.by_key[key]) for key in dropped]
    ordered = tuple(sorted(found, key=lambda difference: difference.key))
    return Comparison(ours=ours, theirs=theirs, differences=ordered)


def _added(decision: Decision, theirs: Selection, seen_by_both: set[str]) -> Difference:
    reason = decision.reasons[0]
    kind = reason.rule
    origin = reason.path[0]
    if kind in {"declared-dependency", "run-all"} and origin not in seen_by_both:
        kind = "old-side"
        text = f"{reason.text}; vLLM's rule does not see the old side of a rename or a type change"
    elif theirs.docs_only:
        kind = "not-docs-only"
        text = f"{reason.text}; vLLM's rule takes the change for documentation only"
    else:
        text = f"{reason.text}; vLLM's rule has no such rule, and leaves it behind a block step"
    return Difference(key=decision.key, added=True, kind=kind, text=text)


def _dropped(decision: Decision) -> Difference:
    reason = decision.reasons[0]
    state = "blocked" if decision.in_pipeline else "left out"
    text = f"{state}: {reason.text}; vLLM's rule starts it"
    return Difference(key=decision.key, added=False, kind=reason.rule, text=text)
