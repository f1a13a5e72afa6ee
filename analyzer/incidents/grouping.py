"""One incident per cause: streaks that show the same thing, in whatever job, go together."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import product

from gauntlet.analyzer.incidents.columns import signature_of
from gauntlet.analyzer.incidents.streaks import Streak

# Tests that fail together in half of the runs of either are taken for one cause.
_TOGETHER = 0.5
# Two wordings of one message; a name or two may differ.
_ALIKE = 0.8
_MOST_WORDINGS = 20


@dataclass(frozen=True)
class Group:
    """Streaks of one cause. Their ranges have a commit in common, which may be the culprit."""

    streaks: tuple[Streak, ...]

    @property
    def last_good(self) -> int | None:
        """Position of the newest commit at which all of it was known to be good, if any."""
        return max((s.last_good for s in self.streaks if s.last_good is not None), default=None)

    @property
    def first_bad(self) -> int:
        """Position of the oldest commit at which any of it was bad."""
        return min(streak.first_bad for streak in self.streaks)

    @cached_property
    def absent_until(self) -> int | None:
        """Position of the newest commit that did not have what fails; None where it ever passed."""
        if self.last_good is not None:
            return None
        found = [s.absent_until for s in self.streaks if s.absent_until is not None]
        return max(found, default=None)

    @cached_property
    def tests(self) -> frozenset[str]:
        """Ids of the tests that show it."""
        tracks = (streak.column.track for streak in self.streaks)
        return frozenset(track.name for track in tracks if track.kind == "test")

    @cached_property
    def jobs(self) -> frozenset[str]:
        """Keys of the jobs that show it."""
        return frozenset(streak.column.job_key for streak in self.streaks)

    @cached_property
    def names(self) -> frozenset[str]:
        """Tests, and signatures of what is no test's."""
        return frozenset(streak.column.track.name for streak in self.streaks)

    @cached_property
    def signatures(self) -> frozenset[str]:
        """Signatures of the failed runs."""
        return frozenset(signature_of(run) for s in self.streaks for run in s.failures)

    @cached_property
    def failed_runs(self) -> frozenset[str]:
        """Ids of the job attempts that failed so."""
        return frozenset(run.job_id for s in self.streaks for run in s.failures)

    def joined(self, other: "Group") -> "Group":
        """Both as one."""
        return Group((*self.streaks, *other.streaks))


def group_streaks(streaks: Iterable[Streak]) -> list[Group]:
    """Put streaks together, oldest first.

    Two belong together where they follow the same test or signature, or fail in the same runs;
    and where one commit can have caused both. Where that is not so, there are two causes.
    """
    groups: list[Group] = []
    for group in sorted(_same_runs(streaks), key=lambda g: (g.first_bad, sorted(g.names))):
        for index, known in enumerate(groups):
            if _one_cause(known, group):
                groups[index] = known.joined(group)
                break
        else:
            groups.append(group)
    return groups


def _same_runs(streaks: Iterable[Streak]) -> Sequence[Group]:
    """Tests that failed in exactly the same runs since the same commit, which may be hundreds."""
    found: dict[tuple[frozenset[str], int | None], list[Streak]] = defaultdict(list)
    for streak in streaks:
        ids = frozenset(run.job_id for run in streak.failures)
        found[ids, streak.last_good].append(streak)
    return [Group(tuple(same)) for same in found.values()]


def _one_cause(one: Group, other: Group) -> bool:
    return _compatible(one, other) and (
        bool(one.names & other.names)
        or bool(one.signatures & other.signatures)
        or _together(one, other)
        or _reworded(one, other)
    )


def _compatible(one: Group, other: Group) -> bool:
    """Whether some commit is a suspect of both."""
    good = [g for g in (one.last_good, other.last_good) if g is not None]
    return not good or max(good) < min(one.first_bad, other.first_bad)


def _together(one: Group, other: Group) -> bool:
    both, either = one.failed_runs & other.failed_runs, one.failed_runs | other.failed_runs
    return len(both) >= _TOGETHER * len(either)


def _reworded(one: Group, other: Group) -> bool:
    """Whether one job failed since the same commit with messages that are nearly the same."""
    if one.last_good != other.last_good or one.jobs != other.jobs:
        return False
    pairs = product(sorted(one.signatures)[:_MOST_WORDINGS], sorted(other.signatures)[:1])
    return any(SequenceMatcher(None, *pair).ratio() >= _ALIKE for pair in pairs)
