"""What became of the bot's reverts, and how often it was right."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from scipy import stats

from gauntlet.services.codehost.port import PullRequest

Fate = Literal["merged", "closed", "fixed-forward"]
"""Taken; refused by people; the culprit was repaired instead, so that it was the right one."""

_LEVEL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Precision:
    """How often an accusation was right. ``share`` is None while nothing has been decided.

    ``waiting`` are drafts of which nobody has decided yet.
    """

    right: int
    wrong: int
    waiting: int
    share: float | None
    low: float | None
    high: float | None

    def __str__(self) -> str:
        if self.share is None:
            return f"none decided yet, {self.waiting} waiting"
        told = f"{self.right} of {self.right + self.wrong} right ({self.share:.0%}"
        return f"{told}, 95 % interval {self.low:.0%} to {self.high:.0%}), {self.waiting} waiting"


def fate(
    change: PullRequest | None,
    *,
    fixed_by: str | None,
    culprit_touched: bool,
    repair_may_come: bool = False,
) -> Fate | None:
    """What became of one revert; None while that is open.

    A closed draft counts as right where the incident was since fixed by a commit that repairs the
    culprit's own change (``culprit_touched``), else as wrong: people did not believe it. While the
    incident goes on and is young (``repair_may_come``) a closed draft says neither.
    """
    if change is None or change.state == "open":
        return None
    if change.state == "merged":
        return "merged"
    if repair_may_come:
        return None
    return "fixed-forward" if fixed_by and culprit_touched else "closed"


def precision(outcomes: Iterable[str]) -> Precision:
    """Count outcomes; the interval is Clopper and Pearson's (1934, doi:10.1093/biomet/26.4.404)."""
    counted = Counter(outcomes)
    right = counted["merged"] + counted["fixed-forward"]
    wrong = counted["closed"]
    waiting = counted["opened"]
    if right + wrong == 0:
        return Precision(right=0, wrong=0, waiting=waiting, share=None, low=None, high=None)
    interval = stats.binomtest(right, right + wrong).proportion_ci(_LEVEL, method="exact")
    return Precision(
        right=right,
        wrong=wrong,
        waiting=waiting,
        share=right / (right + wrong),
        low=float(interval.low),
        high=float(interval.high),
    )
