"""Changes of the main line: which are one and the same, and which take each other back."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gauntlet.release.picks.history import Change

_REVERTS_NUMBER = re.compile(r"^Reverts (?:[\w./-]+)?#(\d+)\s*$", re.MULTILINE)
_REVERTS_TITLE = re.compile(r'^(?:\[[^\]]*\]\s*)*Revert ".*\(#(\d+)\)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """One change of the main line; ``inner`` are the commits that a merge brought."""

    change: Change
    inner: tuple[Change, ...] = ()

    @property
    def by(self) -> tuple[Change, ...]:
        """The commits whose authors made it: who merges is no author."""
        return self.inner or (self.change,)

    @property
    def ids(self) -> frozenset[str]:
        """Ids of commits that are this very change: its own, and those that it was picked from."""
        alone = self.inner if len(self.inner) == 1 else ()
        own = (self.change, *alone)
        return frozenset(sha for each in own for sha in (each.sha, *each.sources))

    @property
    def taken_back(self) -> tuple[str, ...]:
        """Ids of commits that it says it takes back; of a merge, where all it brought does so."""
        told = [each.reverts for each in self.inner]
        inner = tuple(sha for shas in told for sha in shas) if all(told) else ()
        return (*self.change.reverts, *inner)

    @property
    def taken_back_number(self) -> int | None:
        """The pull request that it says it takes back, as code hosts write it."""
        change = self.change
        for text in (change.subject, change.title):
            if found := _REVERTS_TITLE.match(text):
                return int(found[1])
        found = _REVERTS_NUMBER.search(change.body)
        return int(found[1]) if found else None

    @property
    def takes_back(self) -> bool:
        """Whether it says that it takes anything back."""
        return bool(self.taken_back) or self.taken_back_number is not None


def without_reverted(
    changes: Sequence[Merged],
) -> tuple[list[Merged], list[tuple[Merged, Merged]]]:
    """Take out each change that is reverted, and the revert with it.

    The newest come first, so that a revert that was reverted itself reverts nothing. A revert
    that takes back more than is here stays.
    """
    gone: set[int] = set()
    pairs = []
    for place in range(len(changes) - 1, -1, -1):
        revert = changes[place]
        if place in gone or not revert.takes_back:
            continue
        before = [at for at in range(place - 1, -1, -1) if at not in gone]
        targets, whole = _targets(revert, changes, before)
        gone.update(targets)
        pairs += [(changes[at], revert) for at in targets]
        if targets and whole:
            gone.add(place)
    return [each for place, each in enumerate(changes) if place not in gone], pairs[::-1]


def once(changes: Sequence[Merged]) -> list[Merged]:
    """Each change once: a pick and its source, or two picks of one, are the same."""
    seen: set[str] = set()
    kept = []
    for each in changes:
        if not seen & each.ids:
            kept.append(each)
        seen |= each.ids
    return kept


def _targets(
    revert: Merged, changes: Sequence[Merged], before: Sequence[int]
) -> tuple[list[int], bool]:
    """Places of what a revert takes back, and whether that is all of what it names."""
    shas = revert.taken_back
    if shas:
        found = [next((at for at in before if _is(changes[at], sha)), None) for sha in shas]
        places = list(dict.fromkeys(at for at in found if at is not None))
        return places, None not in found
    number = revert.taken_back_number
    if number is None:
        return [], False
    return [at for at in before if changes[at].change.pull_request == number], True


def _is(merged: Merged, sha: str) -> bool:
    return any(own.startswith(sha) for own in merged.ids)
