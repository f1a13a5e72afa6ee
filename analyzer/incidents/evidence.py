"""How sure it is that a streak is no chance, and what would make it surer."""

from collections.abc import Sequence
from dataclasses import dataclass

from gauntlet.analyzer.culprits.model import Commit
from gauntlet.analyzer.incidents.grouping import Group
from gauntlet.analyzer.incidents.incident import Kind, NextStep
from gauntlet.analyzer.incidents.streaks import Streak

# A failure that chance would bring in one of a hundred columns is not yet worth a search.
CHANCE = 0.01
# Two of each, whatever the numbers say: one failure and one pass are a coin, thrown twice.
_LEAST_FAILURES = 2
_LEAST_PASSES = 2
# The past of a column may have missed flakes: their rate is doubled, which costs a run at most.
_OVERESTIMATE = 2.0
_HIGHEST_RATE = 0.9


@dataclass(frozen=True, slots=True)
class Evidence:
    """Failed runs of a streak, passes before it, and how likely chance alone is to bring it.

    What is ``new`` never passed, so that its failures alone speak; what is ``intermittent`` was
    found by its rate, which is proof enough that it changed.
    """

    failures: int
    passes: int
    chance: float
    new: bool = False
    intermittent: bool = False

    @property
    def enough(self) -> bool:
        """Whether it may be acted on."""
        if self.intermittent:
            return True
        proved = self.new or (self.passes >= _LEAST_PASSES and self.chance <= CHANCE)
        return self.failures >= _LEAST_FAILURES and proved

    def __str__(self) -> str:
        failures = count(self.failures, "failure")
        before = (
            "from the first run on" if self.new else f"after {count(self.passes, 'pass', 'passes')}"
        )
        return f"{failures} in a row {before}"


def evidence_of(group: Group) -> Evidence:
    """The strongest of its streaks speaks for a group."""
    found = [_of_streak(streak) for streak in group.streaks]
    return min(found, key=lambda each: (not each.enough, each.chance))


def _of_streak(streak: Streak) -> Evidence:
    failures = len(streak.failures)
    if streak.absent_until is not None:
        return Evidence(failures, 0, 1.0, new=True)
    if streak.intermittent:
        return Evidence(failures, streak.passes_before, 0.0, intermittent=True)
    turned = sum(len(cell.good) for cell in streak.turned_bad)
    chance = chance_of(failures, flakes=streak.flakes, passes=streak.passes_before)
    return Evidence(failures, streak.passes_before + turned, chance)


def chance_of(failures: int, *, flakes: int, passes: int) -> float:
    """How likely failures in a row are by chance, after so many flakes and passes."""
    rate = _OVERESTIMATE * flake_rate(flakes, passes)
    return float(min(_HIGHEST_RATE, rate) ** failures)


def flake_rate(flakes: int, passes: int) -> float:
    """How often it fails by chance, from its past; never 0, for nobody has seen enough."""
    return (flakes + 0.3) / (flakes + passes + 0.8)


def next_step(
    kind: Kind,
    evidence: Evidence,
    suspects: Sequence[Commit],
    first_bad: str,
    last_good: str | None,
    *,
    changed: bool,
) -> NextStep:
    """Say what brings an incident forward. Nobody is accused before a run has told.

    ``changed`` says that something is known to differ between the pass and the failure of one
    commit; without that a single failure after a pass is a flake before it is anything else.
    """
    if kind == "environment" and (changed or evidence.enough):
        reason = "the same commit passed before: no commit is to blame, compare what it ran with"
        return NextStep(step="compare", reason=reason, at=(first_bad,))
    if kind == "environment":
        reason = f"{evidence}, of one commit, may be chance: run it again"
        return NextStep(step="restart", reason=reason, at=(first_bad,))
    if not evidence.enough:
        reason = f"{evidence} may be chance: run the last good and the first bad commit again"
        at = tuple(sha for sha in (last_good, first_bad) if sha)
        return NextStep(step="restart", reason=reason, at=at)
    return forward(suspects, first_bad)


def forward(suspects: Sequence[Commit], first_bad: str) -> NextStep:
    """Say what brings an incident forward that is no chance."""
    if not suspects:
        reason = "no pass of it is known: look further back"
        return NextStep(step="look-back", reason=reason, at=(first_bad,))
    if len(suspects) == 1:
        reason = "one commit is left: prove that it fails and that its parent passes"
        return NextStep(step="verify", reason=reason, at=(suspects[0].sha,))
    middle = suspects[(len(suspects) - 1) // 2]
    reason = f"{len(suspects)} commits are suspects: a run at {middle.sha[:10]} separates them"
    return NextStep(step="bisect", reason=reason, at=(middle.sha,))


def count(number: int, one: str, many: str = "") -> str:
    """``1 pass``, ``2 passes``."""
    return f"{number} {one if number == 1 else many or one + 's'}"
