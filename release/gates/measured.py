"""Gates of measurements: which runs count, and what their verdicts say together.

All blocking statistics of all measured gates are one family (Holm): a loss fails a gate only
where it is shown beside all the others. What a run called a loss and the family does not is
inconclusive, and asks for another run. Runs of one statistic are independent sessions, and they are
judged together after each: for a loss their p-values are combined (Fisher) and paid for as
``most_runs`` looks (Bonferroni), against one their intervals are pooled. So repeating makes a true
loss plain, and cannot wash a shown one out.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fnmatch import fnmatchcase

from gauntlet.core.multiplicity import holm
from gauntlet.release.gates.ci import SKEW
from gauntlet.release.gates.facts import RunFact, Subject, VerdictFact
from gauntlet.release.gates.model import GateResult, Problem, Statistic, Trouble
from gauntlet.release.gates.rules import MeasuredGate, NeededRun

# What a verdict that is neither accepted nor a proven loss makes of its gate.
_STATES: dict[str, Trouble] = {
    "worse": "INCONCLUSIVE",
    "inconclusive": "INCONCLUSIVE",
    "config-changed": "INCONCLUSIVE",
    "invalid": "MISSING",
    "missing": "MISSING",
}
_REMEDIES = {
    "worse": "measure this recipe once more: beside all others the loss may be chance",
    "inconclusive": "measure this recipe once more",
    "config-changed": "measure both sides with one configuration",
    "invalid": "mend what made the measurement invalid, and measure again",
    "missing": "measure it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Runs that count for one need, oldest first, and why others do not."""

    need: NeededRun
    runs: tuple[RunFact, ...]
    refused: tuple[str, ...]


Adjusted = Mapping[str, float]
"""Adjusted p-value by statistic; absent where no run has a p-value."""


def choose_runs(
    rule: MeasuredGate, subject: Subject, runs: Iterable[RunFact], now: datetime
) -> list[Counted]:
    """Choose the runs of each need: this commit, this image, against the previous release."""
    ordered = sorted(runs, key=lambda run: (run.started_at, run.run_id))
    return [_choose(rule, need, subject, ordered, now) for need in rule.runs]


def adjust(gates: Iterable[tuple[MeasuredGate, Sequence[Counted]]]) -> Adjusted:
    """Adjust the p-values of all blocking statistics of all gates for their number and looks."""
    looks: dict[str, int] = {}
    p_values: dict[str, list[float]] = defaultdict(list)
    for rule, counted in gates:
        for run in _distinct(counted):
            for verdict in weighed(rule, run):
                if verdict.p_value is not None:
                    key = _key(run, verdict)
                    looks[key] = rule.most_runs
                    p_values[key].append(verdict.p_value)
    over_looks = [min(1.0, looks[key] * _best_look(found)) for key, found in p_values.items()]
    return dict(zip(p_values, holm(over_looks), strict=True))


def _best_look(p_values: Sequence[float]) -> float:
    """The smallest of the p-values combined after each run, oldest first."""
    return min(_fisher(p_values[:count]) for count in range(1, len(p_values) + 1))


def _fisher(p_values: Sequence[float]) -> float:
    """Combine independent p-values (Fisher 1932): their product, against chance.

    A chi-squared with an even number of degrees of freedom has a closed form.
    """
    # Below it the logarithm has no bottom; nothing is decided by how far below.
    half = -sum(math.log(max(p_value, 1e-300)) for p_value in p_values)
    terms = (half**k / math.factorial(k) for k in range(len(p_values)))
    return min(1.0, math.exp(-half) * sum(terms))


def decide_measured(
    rule: MeasuredGate,
    subject: Subject,
    counted: Sequence[Counted],
    adjusted: Adjusted,
    level: float,
) -> GateResult:
    """Decide the gate; ``level`` is the chance that a candidate without a change fails."""
    problems: list[Problem] = []
    notes: list[str] = []
    for each in counted:
        problems += _of_need(rule, subject, each, adjusted, level)
        notes += each.refused
    runs = _distinct(counted)
    demoted = {v.subject for run in runs for v in run.verdicts if v.demoted and _weighs(rule, v)}
    if demoted:
        notes.append(
            f"cannot be judged by these runs, so they inform: {', '.join(sorted(demoted))}"
        )
    statistics = tuple(_statistics(rule, runs, adjusted))
    return GateResult(
        name=rule.name,
        problems=tuple({problem.key: problem for problem in problems}.values()),
        notes=tuple(dict.fromkeys(notes)),
        numbers=(("runs", len(runs)), ("statistics", len(statistics))),
        statistics=statistics,
        evidence=tuple(run.run_id for run in runs),
    )


def weighed(rule: MeasuredGate, run: RunFact) -> list[VerdictFact]:
    """Blocking verdicts of a run that a gate weighs."""
    return [each for each in run.verdicts if each.blocking and _weighs(rule, each)]


def _weighs(rule: MeasuredGate, verdict: VerdictFact) -> bool:
    return any(fnmatchcase(verdict.subject, pattern) for pattern in rule.verdicts)


def _choose(
    rule: MeasuredGate, need: NeededRun, subject: Subject, runs: Sequence[RunFact], now: datetime
) -> Counted:
    chosen: list[RunFact] = []
    refused: list[str] = []
    for run in runs:
        if not fnmatchcase(run.recipe, need.recipe):
            continue
        if not fnmatchcase(run.accelerator, need.accelerator):
            continue
        if why := _why_not(rule, need, subject, run, now):
            refused.append(f"run {run.run_id} does not count: {why}")
        elif len(chosen) == rule.most_runs:
            refused.append(f"run {run.run_id} does not count: {rule.most_runs} before it do")
        else:
            chosen.append(run)
    return Counted(need=need, runs=tuple(chosen), refused=tuple(refused))


def _why_not(
    rule: MeasuredGate, need: NeededRun, subject: Subject, run: RunFact, now: datetime
) -> str:
    wanted = {subject.images.get(need.image, "")} if need.image else set(subject.images.values())
    other = run.commits - {subject.commit}
    unlike = run.images - (wanted - {""})
    began = f"{run.started_at:%Y-%m-%d %H:%M}"
    reasons = {
        f"it measured {_short(other)} as well": bool(other),
        f"it measured the image {_short(unlike)}, not the candidate's": (
            subject.needs_image and bool(unlike)
        ),
        f"its baseline is {_short(run.baseline_commits) or 'nothing'}, not {subject.previous}": (
            run.baseline_commits != {subject.previous_commit}
        ),
        f"it is {run.status}": run.status != "complete",
        f"it began in the future ({began}): a clock is wrong": run.started_at > now + SKEW,
        f"it is older than {rule.fresh_days} days": (
            run.started_at < now - timedelta(days=rule.fresh_days)
        ),
        f"{run.hours:.1f} h under load, {need.least_hours:g} h needed": (
            run.hours < need.least_hours
        ),
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def _of_need(
    rule: MeasuredGate, subject: Subject, counted: Counted, adjusted: Adjusted, level: float
) -> Iterator[Problem]:
    need = counted.need
    place = need.recipe if need.accelerator == "*" else f"{need.recipe} on {need.accelerator}"
    if not counted.runs:
        against = subject.previous or "a release before it, as there is none"
        message = f"no run of {place} compares {subject.name} with {against}"
        if counted.refused:
            message += f" ({counted.refused[-1]})"
        remedy = "measure both sides in one run, and judge it"
        yield Problem(key=f"run/{place}", state="MISSING", message=message, remedy=remedy)
        return
    by_statistic: dict[str, list[tuple[RunFact, VerdictFact]]] = defaultdict(list)
    for run in counted.runs:
        for verdict in weighed(rule, run):
            by_statistic[_key(run, verdict)].append((run, verdict))
    if not by_statistic:
        names = ", ".join(run.run_id for run in counted.runs)
        message = f"{place} was measured ({names}) and has no blocking verdict of this gate"
        remedy = f"gauntlet analyze compare {counted.runs[-1].run_id}"
        yield Problem(key=f"run/{place}", state="MISSING", message=message, remedy=remedy)
    for key, verdicts in sorted(by_statistic.items()):
        if (problem := _of_statistic(rule, key, verdicts, adjusted, level)) is not None:
            yield problem


def _of_statistic(
    rule: MeasuredGate,
    key: str,
    verdicts: Sequence[tuple[RunFact, VerdictFact]],
    adjusted: Adjusted,
    level: float,
) -> Problem | None:
    """A loss that is shown fails; else the runs together have to exclude one."""
    for run, verdict in verdicts:
        if verdict.outcome != "worse":
            continue
        p_value = adjusted.get(key)
        if p_value is None or p_value < level:
            beside = "" if p_value is None else f" (beside all others p = {p_value:.2g})"
            message = f"{key}: {verdict.reason}{beside}, run {run.run_id}"
            return Problem(key=key, state="FAIL", message=message)
    if _excluded(rule, [verdict for _, verdict in verdicts]):
        return None
    run, verdict = verdicts[-1]
    remedy = _REMEDIES.get(verdict.outcome, "")
    if len(verdicts) >= rule.most_runs and verdict.outcome in {"worse", "inconclusive"}:
        remedy = f"{rule.most_runs} runs count, and all are there: waive it, or mend it"
    message = f"{key}: {verdict.outcome} in run {run.run_id}: {verdict.reason}"
    state = _STATES.get(verdict.outcome, "INCONCLUSIVE")
    return Problem(key=key, state=state, message=message, remedy=remedy)


def _excluded(rule: MeasuredGate, verdicts: Sequence[VerdictFact]) -> bool:
    """Whether a loss of the margin is excluded: by the one run, or by all of them together.

    Effects of independent runs are averaged by the inverse of their variance; the interval keeps
    the level that the runs' intervals have. Where a run has no interval, one that says so will do.
    """
    usable = [v for v in verdicts if v.effect is not None and v.interval and v.margin]
    if len(verdicts) == 1 or len(usable) < len(verdicts):
        return any(verdict.outcome in rule.accept for verdict in verdicts)
    centres, weights = [], []
    for verdict in usable:
        low, high = verdict.interval or (0.0, 0.0)
        sign = -1.0 if verdict.higher_is_better else 1.0
        centres.append(sign * (low + high) / 2)
        weights.append(1 / max((high - low) / 2, 1e-9) ** 2)
    total = sum(weights)
    centre = sum(c * w for c, w in zip(centres, weights, strict=True)) / total
    return centre + 1 / math.sqrt(total) < (usable[-1].margin or 0.0)


def _statistics(
    rule: MeasuredGate, runs: Iterable[RunFact], adjusted: Adjusted
) -> Iterator[Statistic]:
    for run in runs:
        for verdict in weighed(rule, run):
            yield Statistic(
                run_id=run.run_id,
                key=_key(run, verdict),
                outcome=verdict.outcome,
                adjusted_p=adjusted.get(_key(run, verdict)),
                effect=verdict.effect,
                interval=verdict.interval,
                unit=verdict.unit,
                margin=verdict.margin,
                n=verdict.n,
            )


def _key(run: RunFact, verdict: VerdictFact) -> str:
    where = f"{run.recipe}@{run.accelerator}" if run.accelerator else run.recipe
    return f"{where}/{verdict.subject}"


def _distinct(counted: Iterable[Counted]) -> list[RunFact]:
    return list({run.run_id: run for each in counted for run in each.runs}.values())


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def _short(names: Iterable[str]) -> str:
    return ", ".join(sorted(name.removeprefix("sha256:")[:10] or "not recorded" for name in names))
