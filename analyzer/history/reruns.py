"""Alarms are provisional: plan what to measure again, and judge it once it was measured."""

import json
import math
import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field
from scipy import stats

from gauntlet.analyzer.history.commits import short
from gauntlet.analyzer.history.finding import Finding
from gauntlet.core.yaml_file import StrictModel

Turn = Literal["suspect", "parent"]
# Two blocks are the least that give each side three repetitions.
_BLOCKS = 2
_BLOCK: tuple[Turn, ...] = ("parent", "suspect", "suspect", "parent")
_ORDER = _BLOCK * _BLOCKS
_LEVEL = 0.01
_UNMEASURED = 0.05


class Rerun(StrictModel):
    """One suspect against the point before it, in interleaved turns on one machine."""

    recipe: str
    workload: str
    point: str
    accelerator: str
    suspect: str
    """Engine commit, or image digest where no commit is known."""
    parent: str
    """The build of the point before it."""
    turns: tuple[Turn, ...] = _ORDER
    """Order of the repetitions."""
    command: tuple[str, ...]
    """Words of the command line that does it; empty where a build cannot be named in one."""
    note: str = ""
    """What stands in the way of the command."""
    alerts: tuple[str, ...]
    """Subjects of the alarms that it answers."""
    reasons: tuple[str, ...]
    """What each of them saw."""


class RerunPlan(StrictModel):
    """What to measure again after one night."""

    schema_version: Literal[1] = 1
    night: date
    reruns: tuple[Rerun, ...] = Field(default=())


def plan_reruns(night: date, findings: Sequence[Finding]) -> RerunPlan:
    """Plan reruns for provisional findings; alarms of one place and build share one."""
    groups: dict[tuple[object, ...], list[Finding]] = defaultdict(list)
    for finding in findings:
        commits = finding.commits
        if finding.kind != "provisional" or finding.unit != "%" or commits is None:
            continue
        if commits.after and commits.until and commits.after != commits.until:
            groups[(*finding.place, commits.after, commits.until)].append(finding)
    return RerunPlan(night=night, reruns=tuple(_rerun(some) for some in groups.values()))


def _rerun(findings: Sequence[Finding]) -> Rerun:
    first = findings[0]
    commits = first.commits
    if commits is None:
        msg = "a rerun needs both builds"
        raise ValueError(msg)
    place = first.place
    command, note = _command(
        place.recipe, place.workload, place.point, commits.after, commits.until
    )
    return Rerun(
        recipe=place.recipe,
        workload=place.workload,
        point=place.point,
        accelerator=place.accelerator,
        suspect=commits.until,
        parent=commits.after,
        command=command,
        note=note,
        alerts=tuple(finding.subject for finding in findings),
        reasons=tuple(finding.reason for finding in findings),
    )


def _command(
    recipe: str, workload: str, point: str, parent: str, suspect: str
) -> tuple[tuple[str, ...], str]:
    """The command that measures both builds in blocks A B B A, and why there is none."""
    if parent.startswith("sha256:") or suspect.startswith("sha256:"):
        return (), "the rows name images by digest only: set engine.image of both sides by hand"
    comparison = {
        "baseline": {"engine.commit": parent},
        "candidate": {"engine.commit": suspect},
    }
    settings = {
        "comparison": comparison,
        "blocks": {"min": _BLOCKS, "max": _BLOCKS},
        "repetitions": 1,
    }
    words = ["gauntlet", "bench", "run", recipe]
    for path, value in settings.items():
        words += ["--set", f"{path}={json.dumps(value)}"]
    return (*words, "--point", f"{workload}/{point}" if point else workload), ""


def rerun_lines(plan: RerunPlan, most: int) -> list[str]:
    """The first ``most`` reruns for people, with commands that a shell takes."""
    lines = []
    for each in plan.reruns[:most]:
        where = f"{each.recipe} {each.workload} {each.point}".rstrip()
        lines.append(f"  {where}: {short(each.suspect)} against {short(each.parent)}")
        lines.append(f"    {shlex.join(each.command) if each.command else each.note}")
    rest = len(plan.reruns) - most
    return [*lines, f"  ... and {rest} more"] if rest > 0 else lines


class Confirmation(NamedTuple):
    """What reruns say; per cent, positive where the suspect's values are higher."""

    outcome: Literal["confirmed", "not-reproduced", "open"]
    effect_percent: float
    lower_percent: float
    upper_percent: float
    p_value: float
    method: str


def confirm(
    suspect: Sequence[float],
    parent: Sequence[float],
    *,
    noise_percent: float | None,
    alarm_percent: float,
    margin_percent: float,
) -> Confirmation:
    """Judge a suspect against its parent from interleaved repetitions.

    The difference of mean logs is tested to one side, that of the alarm, at 1 %. Its deviation is
    the larger of the noise of the series and that of these repetitions: with the first the test is
    normal, without it (None) Student's. Confirmed are losses or gains of half of the margin at
    least; not reproduced is what excludes, at 5 %, half of the alarm and the margin. Anything else
    stays open. Raises ValueError for values that are not positive, or fewer than two a side.
    """
    if min(len(suspect), len(parent)) < 2 or min(*suspect, *parent) <= 0:
        msg = "two positive values of each side are needed"
        raise ValueError(msg)
    way = math.copysign(1.0, alarm_percent)
    sides = [np.log(np.asarray(values, dtype=float)) for values in (suspect, parent)]
    freedom = sum(len(side) - 1 for side in sides)
    within = math.sqrt(sum(float(((s - s.mean()) ** 2).sum()) for s in sides) / freedom)
    known = None if noise_percent is None else math.log1p(noise_percent / 100)
    error = max(within, known or 0.0) * math.sqrt(sum(1 / len(side) for side in sides))
    law = stats.t(freedom) if known is None else stats.norm()
    effect = float(sides[0].mean() - sides[1].mean())
    if error == 0.0:
        p_value = 0.0 if way * effect > 0 else 1.0
    else:
        p_value = float(law.sf(way * effect / error))
    half = float(law.ppf(1 - _LEVEL)) * error
    reach = way * effect + float(law.ppf(1 - _UNMEASURED)) * error
    harmless = math.log1p(max(margin_percent, abs(alarm_percent) / 2) / 100)
    outcome: Literal["confirmed", "not-reproduced", "open"] = "open"
    if p_value < _LEVEL and way * effect >= math.log1p(margin_percent / 200):
        outcome = "confirmed"
    elif reach < harmless:
        outcome = "not-reproduced"
    name = "Student" if known is None else "normal"
    return Confirmation(
        outcome=outcome,
        effect_percent=100 * math.expm1(effect),
        lower_percent=100 * math.expm1(effect - half),
        upper_percent=100 * math.expm1(effect + half),
        p_value=p_value,
        method=f"{name} test of log means, one-sided, {len(suspect)} against {len(parent)} reruns",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Repetitions of one series and statistic in one interleaved session, by build."""

    series_id: str
    metric: str
    statistic: str
    values: Mapping[str, Sequence[float]]


def answer(
    findings: Sequence[Finding], sessions: Sequence[Session], margin_percent: float
) -> list[Finding]:
    """Turn alarms whose reruns were measured into what these say."""
    return [
        finding
        if finding.kind != "provisional" or finding.unit != "%"
        else _answered(finding, sessions, margin_percent)
        for finding in findings
    ]


def _answered(finding: Finding, sessions: Sequence[Session], margin_percent: float) -> Finding:
    commits = finding.commits
    if commits is None or finding.effect is None:
        return finding
    wanted = (finding.series_id, *finding.statistic)
    suspect: list[float] = []
    parent: list[float] = []
    for each in sessions:
        both = commits.until in each.values and commits.after in each.values
        if (each.series_id, each.metric, each.statistic) == wanted and both:
            suspect += each.values[commits.until]
            parent += each.values[commits.after]
    if min(len(suspect), len(parent)) < 2:
        return finding
    said = confirm(
        suspect,
        parent,
        noise_percent=finding.noise_percent,
        alarm_percent=finding.effect,
        margin_percent=margin_percent,
    )
    counts = f"{len(suspect)} and {len(parent)} reruns"
    size = f"{said.effect_percent:+.1f} % ({said.lower_percent:+.1f} to {said.upper_percent:+.1f})"
    if said.outcome == "open":
        return replace(finding, reason=f"{finding.reason}; {counts} leave it open at {size}")
    if said.outcome == "not-reproduced":
        text = (
            f"not reproduced: {counts} show {size} where the night showed {finding.effect:+.1f} %"
        )
        return replace(finding, kind="not-reproduced", reason=text, open=False)
    loss = math.copysign(said.effect_percent, finding.loss or 0.0)
    text = f"confirmed by {counts}: {size}, blamed on {commits}"
    return replace(
        finding,
        kind="regression" if loss > 0 else "improvement",
        reason=text,
        blocking=loss >= margin_percent,
        effect=said.effect_percent,
        lower=said.lower_percent,
        upper=said.upper_percent,
        loss=loss,
        p_value=said.p_value,
        adjusted_p=None,
        n_before=len(parent),
        n_after=len(suspect),
        before=_middle(parent),
        after=_middle(suspect),
        method=said.method,
    )


def _middle(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))
