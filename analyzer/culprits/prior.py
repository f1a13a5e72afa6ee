"""Whom to look at first: what commits touched, against what failed. Never who wrote them.

Every clue multiplies a commit's weight and is said in words. A quarter of all is shared evenly, so
that no commit falls below a quarter of its even share: a wrong prior costs about two bits, which is
a few runs, and can accuse nobody, because a culprit is verified by runs alone.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gauntlet.analyzer.culprits.imports import paths_named
from gauntlet.analyzer.culprits.model import Commit

EVEN_SHARE = 0.25

_TEST_ITSELF, _NAMED, _IMPORTED, _IMPORTED_FAR = 4.0, 4.0, 3.0, 1.5
_TITLE, _REVERT, _DOCUMENTS = 1.5, 1.5, 0.2
_FAR = 2
_DEEP = 2
_MOST_TAKEN = 2.0
_DOCUMENT = re.compile(r"\.(md|rst|txt)$|^docs/|(^|/)(LICENSE|CODEOWNERS|AUTHORS)$")
_RISKY_TITLE = re.compile(r"\b(revert|reland|re-land|reapply)\b", re.IGNORECASE)
_WORD = re.compile(r"[a-z]{4,}")
_COMMON = frozenset({"test", "tests", "with", "from", "this", "that", "main", "when", "unit"})


class TakenBack(NamedTuple):
    """Of so many changes to a folder, how many were taken back; ``factor`` compares the branch."""

    reverted: int
    changes: int
    factor: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Clues:
    """What is known of the failure; empty where nothing is.

    ``imports`` are the files that the test needs, with their distance from it; ``text`` is what
    the failure said; ``lags`` tells how many commits before the first failure earlier culprits
    stood (0: the first failing commit itself); ``reverted`` are commits taken back later.
    """

    test_file: str = ""
    imports: Mapping[str, int] = field(default_factory=dict)
    text: str = ""
    lags: Sequence[int] = ()
    reverted: frozenset[str] = frozenset()
    taken_back: Mapping[str, TakenBack] = field(default_factory=dict)
    """How often changes to a folder were taken back, where that is more often than elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """The share of one commit in the prior, and why it is not the even one."""

    share: float
    reasons: tuple[str, ...]


def weigh(commits: Sequence[Commit], clues: Clues) -> list[Weighed]:
    """Share the prior among commits, oldest first; the shares add up to 1."""
    n = len(commits)
    density = _lag_density(clues.lags, n)
    weights, reasons = [], []
    for place, commit in enumerate(commits):
        found = list(_clues_of(commit, clues))
        if density is not None:
            said = f"culprits stood {n - 1 - place} commits before the first failure"
            found.append((density[place], f"{said} {density[place]:.2g} times the even share"))
        weights.append(math.prod(factor for factor, _ in found))
        reasons.append(tuple(f"x{factor:.2g}: {said}" for factor, said in found))
    total = math.fsum(weights)
    return [
        Weighed(share=EVEN_SHARE / n + (1 - EVEN_SHARE) * weight / total, reasons=said)
        for weight, said in zip(weights, reasons, strict=True)
    ]


def folder_of(path: str) -> str:
    """The part of the repository that a file belongs to: two folders deep at most."""
    return "/".join(path.split("/")[:-1][:_DEEP])


def revert_history(commits: Sequence[Commit]) -> Mapping[str, TakenBack]:
    """Folders whose changes were taken back more often than those of the branch on the whole."""
    undone = {commit.reverts for commit in commits if commit.reverts}
    changes: Counter[str] = Counter()
    reverted: Counter[str] = Counter()
    total = 0
    for commit in commits:
        taken = any(commit.sha.startswith(sha) for sha in undone)
        total += taken
        for folder in {folder_of(path) for path in commit.paths} - {""}:
            changes[folder] += 1
            reverted[folder] += taken
    if not total:
        return {}
    usual = total / len(commits)
    found = {}
    for folder, count in reverted.items():
        # One revert more on either side, so that few changes say little.
        factor = min(_MOST_TAKEN, (count + 1) / (changes[folder] * usual + 1))
        if count and factor > 1:
            found[folder] = TakenBack(count, changes[folder], factor)
    return found


def _clues_of(commit: Commit, clues: Clues) -> list[tuple[float, str]]:
    found: list[tuple[float, str]] = []
    paths = set(commit.paths)
    if clues.test_file in paths:
        found.append((_TEST_ITSELF, f"changed the failing test {clues.test_file}"))
    if named := sorted(paths_named(clues.text, paths)):
        found.append((_NAMED, f"changed {named[0]}, which the failure names"))
    near = sorted((clues.imports[path], path) for path in paths if clues.imports.get(path))
    if near:
        distance, path = near[0]
        factor = _IMPORTED if distance <= _FAR else _IMPORTED_FAR
        found.append((factor, f"changed {path}, which the test imports ({distance} steps away)"))
    elif clues.test_file and (shared := _same_folder(paths, clues.test_file)):
        found.append((_IMPORTED_FAR, f"changed {shared}, in the folder of the failing test"))
    if words := sorted(_words(commit.title) & _words(f"{clues.test_file} {clues.text}")):
        found.append((_TITLE, f"its title speaks of {words[0]}"))
    if commit.reverts or _RISKY_TITLE.search(commit.title):
        found.append((_REVERT, "takes back, or brings back, another commit"))
    if commit.sha in clues.reverted:
        found.append((_REVERT, "was taken back later"))
    if risky := sorted(
        (-clues.taken_back[folder].factor, folder)
        for folder in {folder_of(path) for path in paths}
        if folder in clues.taken_back
    ):
        folder = risky[0][1]
        told = clues.taken_back[folder]
        said = f"{told.reverted} of {told.changes} changes to {folder} were taken back"
        found.append((told.factor, said))
    if paths and all(_DOCUMENT.search(path) for path in paths):
        found.append((_DOCUMENTS, "changed documents alone"))
    else:
        found.extend(_churn(commit))
    return found


def _churn(commit: Commit) -> list[tuple[float, str]]:
    lines = commit.lines_changed
    if lines is None:
        return []
    factor = 0.7 + 0.3 * math.log10(1 + lines)
    return [(factor, f"changed {lines} lines")]


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold().replace("_", " "))) - _COMMON


def _same_folder(paths: set[str], test_file: str) -> str | None:
    folder = test_file.rpartition("/")[0]
    if not folder:
        return None
    return next((path for path in sorted(paths) if path.rpartition("/")[0] == folder), None)


def _lag_density(lags: Sequence[int], n: int) -> list[float] | None:
    """How much likelier each place is than an even share, from earlier culprits; smoothed.

    Each earlier lag is spread over its neighbours; None where there is none in a range so long.
    """
    known = [lag for lag in lags if 0 <= lag < n]
    if not known:
        return None
    width = max(1.0, n / 8)
    raw = [
        1.0 + math.fsum(math.exp(-0.5 * ((n - 1 - place - lag) / width) ** 2) for lag in known)
        for place in range(n)
    ]
    mean = math.fsum(raw) / n
    return [value / mean for value in raw]
