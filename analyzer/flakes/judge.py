"""Judge one history: broken, flaky, healthy, or not known yet; with the numbers. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import betainc

from gauntlet.analyzer.flakes.segments import (
    A,
    B,
    Bools,
    ChangePoint,
    Interval,
    Ints,
    place_of_change,
    rate_of,
    segments_of,
)
from gauntlet.analyzer.flakes.streaks import (
    broken_stretches,
    is_break,
    log_chance,
    more_failures,
)

State = Literal["broken", "flaky", "healthy", "unknown"]

ENOUGH_RUNS = 10
"""Fewer say nothing of a rate."""
WORTH_FLAGGING, SURE_ENOUGH = 0.01, 0.8
"""Flaky without proof: the rate is at least 1 %, with a probability of at least 80 %."""
BROKEN_RATE = 0.5
"""Since a change it fails more often than not, with 99.5 %: broken, if not every time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Runs of one test in one job on one queue, in merge order, attempts of a commit in time order.

    ``positions`` are places in the branch's merge order, None where a commit is not of it. Runs
    that were skipped, or lost to the machine, are not runs.
    """

    failed: tuple[bool, ...]
    commits: tuple[str, ...]
    positions: tuple[int | None, ...] = ()

    def __post_init__(self) -> None:
        lengths = {len(self.failed), len(self.commits), len(self.positions) or len(self.failed)}
        if len(lengths) > 1:
            msg = f"a history needs a commit (and a position) for each run, got {sorted(lengths)}"
            raise ValueError(msg)

    def position(self, index: int) -> int | None:
        """Place of a run's commit in the merge order."""
        return self.positions[index] if self.positions else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a history says.

    ``rate`` (95 %) and ``runs``, ``failures`` are of the present segment: for a flake without the
    stretches in which it was broken, for a break since it broke. ``since`` is the index of the
    first run of what holds now, None where it held from the start. ``suspects`` are the indexes
    between which the change lies with 99 %. ``same_commit`` are commits on which it both passed
    and failed. ``chance`` is how likely the newest streak is for a flake of its rate, None without
    one; ``more_failures`` in a row would open a break.
    """

    state: State
    reasons: tuple[str, ...]
    rate: Interval
    runs: int
    failures: int
    since: int | None = None
    suspects: tuple[int, int] | None = None
    same_commit: tuple[str, ...] = ()
    streak: int = 0
    chance: float | None = None
    more_failures: int | None = None


def judge(history: History) -> Judgement:
    """Judge one history as it stands now."""
    failed = np.asarray(history.failed, dtype=bool)
    streak = _streak(failed)
    kept = _without_breaks(failed, streak)
    sound = failed[kept]
    if streak and _opens(sound, streak):
        whole = segments_of(failed).changes
        if whole and whole[-1].index < len(failed) - streak and _became_bad(failed, whole[-1]):
            # It broke before, and passed now and then since.
            return _often_broken(history, np.arange(len(failed)), failed, whole[-1])
        return _streak_broken(history, kept, sound, streak)
    split = segments_of(sound)
    change = split.changes[-1] if split.changes else None
    start = change.index if change else 0
    present = kept[start:]
    if change is not None and _became_bad(sound, change):
        return _often_broken(history, kept, sound, change)
    return _rate_judgement(history, present, streak, change, kept, sound)


def _streak(failed: Bools) -> int:
    passes = np.flatnonzero(~failed)
    return len(failed) - 1 - int(passes[-1]) if len(passes) else len(failed)


def _without_breaks(failed: Bools, streak: int) -> Ints:
    """Indexes of the runs outside stretches that were breaks and are over."""
    kept = np.ones(len(failed), dtype=bool)
    for start, stop in broken_stretches(failed):
        if stop < len(failed) or not streak:
            kept[start:stop] = False
    return np.flatnonzero(kept)


def _opens(sound: Bools, streak: int) -> bool:
    """Whether the newest failures are a break, for all runs and for the newest rate alone.

    A test that has just become flaky must not be measured by the time before it was.
    """
    if not is_break(len(sound), int(sound.sum()), streak):
        return False
    changes = segments_of(sound[:-streak]).changes
    present = sound[changes[-1].index :] if changes else sound
    return bool(is_break(len(present), int(present.sum()), streak))


def _became_bad(failed: Bools, change: ChangePoint) -> bool:
    return _mostly_fails(failed[change.index :]) and not _mostly_fails(failed[: change.index])


def _mostly_fails(part: Bools) -> bool:
    return rate_of(int(part.sum()), len(part), level=0.99).low > BROKEN_RATE


def _streak_broken(history: History, kept: Ints, sound: Bools, streak: int) -> Judgement:
    total = len(history.failed)
    first = total - streak
    runs, failures = len(sound), int(sound.sum())
    rate = rate_of(streak, streak)
    if first == 0 or runs == streak:
        why = f"failed in all {streak} runs, and never passed"
        return Judgement(
            state="broken", reasons=(why,), rate=rate, runs=streak, failures=streak,
            since=first or None, streak=streak, more_failures=0,
        )  # fmt: skip
    chance = float(np.exp(log_chance(runs, failures, streak)))
    low, high = place_of_change(sound)
    before = f"before that {failures - streak} of {runs - streak} runs"
    reasons = [f"failed {streak} times in a row, {before}: by chance {chance:.1g}"]
    if history.commits[first] == history.commits[first - 1]:
        reasons.append("its first failure is on a commit on which it passed: the environment?")
    return Judgement(
        state="broken",
        reasons=tuple(reasons),
        rate=rate,
        runs=streak,
        failures=streak,
        since=first,
        suspects=(int(kept[low]), int(kept[high])),
        streak=streak,
        chance=chance,
        more_failures=0,
    )


def _often_broken(
    history: History,
    kept: Ints,
    sound: Bools,
    change: ChangePoint,
) -> Judgement:
    part, before = sound[change.index :], sound[: change.index]
    rate = rate_of(int(part.sum()), len(part))
    now = f"{part.sum()} of {len(part)} runs"
    earlier = f"{before.sum()} of {len(before)}"
    return Judgement(
        state="broken",
        reasons=(f"failed in {now} since a change, before that in {earlier}",),
        rate=rate,
        runs=len(part),
        failures=int(part.sum()),
        since=int(kept[change.index]),
        suspects=(int(kept[change.low]), int(kept[change.high])),
        same_commit=_same_commit(history, kept[change.index :]),
        streak=_streak(sound),
        more_failures=0,
    )


def _rate_judgement(
    history: History,
    present: Ints,
    streak: int,
    change: ChangePoint | None,
    kept: Ints,
    sound: Bools,
) -> Judgement:
    outcomes = np.asarray([history.failed[i] for i in present], dtype=bool)
    runs, failures = len(outcomes), int(outcomes.sum())
    mixed = _same_commit(history, present, streak)
    rate = rate_of(failures, runs)
    state, reasons = _state(history, present, mixed, rate)
    if streak and state != "flaky":
        more = more_failures(len(sound), int(sound.sum()), streak)
        reasons = (f"the newest {streak} failed; {more} more in a row would say broken", *reasons)
    return Judgement(
        state="unknown" if streak and state == "healthy" else state,
        reasons=reasons,
        rate=rate,
        runs=runs,
        failures=failures,
        since=int(present[0]) if change is not None else None,
        suspects=(int(kept[change.low]), int(kept[change.high])) if change else None,
        same_commit=mixed,
        streak=streak,
        chance=float(np.exp(log_chance(len(sound), int(sound.sum()), streak))) if streak else None,
        more_failures=more_failures(len(sound), int(sound.sum()), streak) if streak else None,
    )


def _state(
    history: History, present: Ints, mixed: Sequence[str], rate: Interval
) -> tuple[State, tuple[str, ...]]:
    """Tell a flake by proof, or by a rate that is worth it, from health and from too little."""
    if mixed:
        some = f"{mixed[-1][:12]}" + (f" and {len(mixed) - 1} more" if len(mixed) > 1 else "")
        return "flaky", (f"passed and failed on the same commit: {some}",)
    runs, failures, recovered = _by_commit(history, present)
    shown = f"{failures} of {runs} commits failed, {rate.low:.1%} to {rate.high:.1%} of the runs"
    if runs < ENOUGH_RUNS:
        return "unknown", (f"{runs} commits ran it, {ENOUGH_RUNS} are needed",)
    sure = 1 - float(betainc(A + failures, B + runs - failures, WORTH_FLAGGING))
    if recovered and sure >= SURE_ENOUGH:
        return "flaky", (f"{shown}, and it recovered by itself",)
    return "healthy", (shown if failures else f"passed in all {runs} commits",)


def _by_commit(history: History, present: Ints) -> tuple[int, int, bool]:
    """Commits that ran it, commits that failed, and whether a pass came after a failure.

    Attempts that all failed on one commit are one failure: together they speak against a flake.
    """
    worst: dict[str, bool] = {}
    for index in present:
        commit = history.commits[index]
        worst[commit] = worst.get(commit, False) or history.failed[index]
    outcomes = list(worst.values())
    first = outcomes.index(True) if True in outcomes else len(outcomes)
    return len(outcomes), sum(outcomes), False in outcomes[first:]


def _same_commit(history: History, present: Ints, streak: int = 0) -> tuple[str, ...]:
    """Commits on which it both passed and failed, in order.

    A commit that passed and has only failed since, as has all after it, is no proof: that is what
    a change of the environment looks like.
    """
    seen: dict[str, set[bool]] = {}
    for index in present:
        seen.setdefault(history.commits[index], set()).add(history.failed[index])
    if streak:
        first = history.commits[len(history.failed) - streak]
        seen.pop(first, None)
    return tuple(commit for commit, outcomes in seen.items() if len(outcomes) == 2)
