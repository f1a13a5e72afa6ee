"""Accuracy of one night against the nights before it, under the same harness and configuration."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple

from scipy import stats

from gauntlet.analyzer.history.commits import CommitRange
from gauntlet.analyzer.history.finding import Finding
from gauntlet.analyzer.history.series import Difference, Direction
from gauntlet.analyzer.measured import Place, Statistic

_RECENT = 14
_LEVEL = 0.01
_METHOD = "one-sided normal test against the pooled nights before, with the scores' standard errors"


class Identity(NamedTuple):
    """What must be the same for two scores to be compared."""

    harness: str
    harness_version: str
    task_version: str
    fewshot: str
    config_fp: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One score of one task on one night; ``error`` is its standard error, None where unknown.

    ``value`` is a share of 1 where the task has a share of right answers.
    """

    series_id: str
    place: Place
    statistic: Statistic
    direction: Direction
    identity: Identity
    night: date
    value: float
    error: float | None
    n: int
    build: str


def score_of(row: Mapping[str, Any]) -> Score:
    """Read a row of score_history; without an error of its own, a share has the binomial one."""
    value, error, n = row["value"], row["stderr"], row["n"]
    if error is None and 0 <= value <= 1 and n > 0:
        error = math.sqrt(value * (1 - value) / n)
    fewshot = "" if row["fewshot"] is None else str(row["fewshot"])
    name = f"{row['metric']} {row['filter']}".strip()
    return Score(
        series_id=row["series_id"],
        place=Place(*(row[name] for name in Place._fields)),
        statistic=Statistic(row["task"], name),
        direction=row["direction"],
        identity=Identity(
            row["harness"], row["harness_version"], row["task_version"], fewshot, row["config_fp"]
        ),
        night=row["night"],
        value=value,
        error=error,
        n=n,
        build=row["engine_commit"] or row["image_digest"],
    )


def interval(score: Score) -> tuple[float, float] | None:
    """95 % interval of one score by its standard error, shares within 0 and 1; None without one."""
    if score.error is None:
        return None
    half = score.error * float(stats.norm.ppf(0.975))
    low, high = score.value - half, score.value + half
    return (max(low, 0.0), min(high, 1.0)) if 0 <= score.value <= 1 else (low, high)


def judge_scores(scores: Sequence[Score], night: date, *, margin_points: float) -> list[Finding]:
    """Judge every task of one night.

    All of them share an error rate of 1 % (Bonferroni). A drop counts from half of the margin on;
    one whose distance lies within a standard error of the threshold is to be rerun first.
    """
    groups: dict[tuple[str, Statistic], list[Score]] = defaultdict(list)
    for score in scores:
        groups[score.series_id, score.statistic].append(score)
    tonight = [some for some in groups.values() if max(s.night for s in some) == night]
    found = [_judged(some, len(tonight), margin_points) for some in tonight]
    return sorted((finding for finding in found if finding is not None), key=Finding.rank)


def _judged(scores: Sequence[Score], tests: int, margin_points: float) -> Finding | None:
    *_, last = ordered = sorted(scores, key=lambda score: score.night)
    before = [score for score in ordered if score.night < last.night]
    same = [score for score in before if score.identity == last.identity][-_RECENT:]
    if not same:
        return _changed(before[-1], last) if before else None
    # The questions are the same each night: their errors are no smaller together than alone.
    count = sum(score.n for score in same)
    level = sum(score.value * score.n for score in same) / count if count else math.nan
    errors = [score.error for score in same if score.error is not None]
    if last.error is None or not errors or math.isnan(level):
        return None
    error = math.hypot(last.error, math.sqrt(sum(e * e for e in errors)) / len(errors))
    drop = (level - last.value) * (-1 if last.direction == "lower" else 1)
    certain = math.copysign(math.inf, drop) if drop else 0.0
    distance = drop / error if error else certain
    threshold = float(stats.norm.ppf(1 - _LEVEL / tests))
    if drop * 100 < margin_points / 2 or distance < threshold - 1:
        return None
    return _finding(last, same, level, error, distance, threshold, margin_points)


def _finding(
    last: Score,
    same: Sequence[Score],
    level: float,
    error: float,
    distance: float,
    threshold: float,
    margin_points: float,
) -> Finding:
    sure = distance >= threshold + 1
    change = 100 * (last.value - level)
    half = 100 * error * float(stats.norm.ppf(0.975))
    name = f"{last.statistic.metric} {last.statistic.statistic}"
    text = (
        f"{name} is {last.value:.4f}, {abs(change):.1f} points worse than {level:.4f}, the mean of "
    )
    text += f"{len(same)} nights before ({distance:.1f} standard errors)"
    if not sure:
        text += f"; within one of the threshold of {threshold:.1f}: rerun before anybody is accused"
    return Finding(
        kind="regression" if sure else "provisional",
        subject=f"history/{last.series_id}/{last.statistic.metric}/{last.statistic.statistic}"
        f"/score/{same[-1].build or same[-1].night.isoformat()}",
        reason=text,
        night=last.night,
        place=last.place,
        series_id=last.series_id,
        statistic=last.statistic,
        blocking=sure,
        effect=change,
        lower=change - half,
        upper=change + half,
        unit="points",
        loss=abs(change),
        margin=margin_points,
        n_before=len(same),
        n_after=1,
        before=level,
        after=last.value,
        p_value=float(stats.norm.sf(distance)),
        method=_METHOD,
        commits=CommitRange(
            after=same[-1].build,
            until=last.build,
            nights=1,
            after_night=same[-1].night,
            until_night=last.night,
        ),
    )


def _changed(before: Score, after: Score) -> Finding:
    """The first score under another harness, task or configuration is a new baseline."""
    told = [
        Difference(setting=name.replace("_", " "), before=old or None, after=new or None)
        for name, old, new in zip(Identity._fields, before.identity, after.identity, strict=True)
        if old != new
    ]
    dependency = any(each.setting != "config fp" for each in told)
    why = ", ".join(str(each) for each in told)
    name = f"{after.statistic.metric} {after.statistic.statistic}"
    kind = "a dependency changed" if dependency else "the configuration changed"
    return Finding(
        kind="config-changed",
        subject=f"history/{after.series_id}/{after.statistic.metric}/config/"
        + "/".join(part for part in after.identity if part),
        reason=f"{kind}: {why}; {name} {after.value:.4f} is a new baseline, not compared with "
        f"{before.value:.4f}",
        night=after.night,
        place=after.place,
        series_id=after.series_id,
        statistic=after.statistic,
        before=before.value,
        after=after.value,
        method="harness, task version, prompts and fingerprint",
        differences=tuple(told),
    )
