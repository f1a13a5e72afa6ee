"""From stored rows to findings: pairs them, checks comparability, estimates effects. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any, Literal

from gauntlet.analyzer.stats import Estimate, more_failures, paired_mean, paired_share
from gauntlet.analyzer.verdicts import Finding
from gauntlet.perf_eval.recipe import EvalObjective, LoadObjective, Recipe

Rows = Sequence[Mapping[str, Any]]
Unusable = Literal["config-changed", "invalid", "missing"]

# A share of failed requests that is worth stopping for, in percentage points.
FAILURE_MARGIN_POINTS = 1.0


def find_all(
    recipe: Recipe, *, repetitions: Rows, metrics: Rows, eval_pairs: Rows
) -> list[Finding]:
    """One finding per objective of the recipe, and one on failures per workload and task.

    ``repetitions``, ``metrics`` and ``eval_pairs`` are the rows of the queries run_repetitions,
    run_metrics and run_eval_pairs.
    """
    alpha = recipe.judge.false_alarm_rate / recipe.blocks.looks
    findings = [
        load_finding(objective, repetitions=repetitions, metrics=metrics, alpha=alpha)
        for objective in recipe.judge.load
    ]
    findings += [
        eval_finding(objective, repetitions=repetitions, eval_pairs=eval_pairs, alpha=alpha)
        for objective in recipe.judge.evals
    ]
    names = [task.name for task in (*recipe.workloads, *recipe.evals)]
    findings += [failure_finding(name, repetitions=repetitions) for name in names]
    return findings


def load_finding(
    objective: LoadObjective, *, repetitions: Rows, metrics: Rows, alpha: float
) -> Finding:
    """Estimate the relative change of one statistic over all complete pairs."""
    subject = f"load/{objective.workload}/{objective.metric}/{objective.statistic}"
    rows = [
        row
        for row in metrics
        if (row["workload"], row["metric"], row["statistic"])
        == (objective.workload, objective.metric, objective.statistic)
    ]
    unit, higher = _kind_of(rows)
    pairs = _complete_pairs(rows)
    finding = Finding(
        subject=subject,
        blocking=objective.blocking,
        margin=objective.margin_percent,
        unit="%",
        value_unit=unit,
        higher_is_better=higher,
    )
    unusable = _why_unusable(objective.workload, repetitions, len(pairs))
    if unusable is not None:
        kind, why = unusable
        return replace(finding, unusable=kind, why_unusable=why)
    sign = -1.0 if higher else 1.0
    # Differences of logs make "8 % slower" the same distance from either side.
    logs = [sign * math.log(candidate / baseline) for baseline, candidate in pairs]
    estimate = _as_loss_percent(paired_mean(logs, alpha), higher_is_better=higher)
    return replace(
        finding,
        estimate=estimate,
        baseline=median(baseline for baseline, _ in pairs),
        candidate=median(candidate for _, candidate in pairs),
    )


def _kind_of(rows: Rows) -> tuple[str, bool]:
    if not rows:
        return "", False
    return str(rows[0]["unit"]), rows[0]["direction"] == "higher"


def _complete_pairs(rows: Rows) -> list[tuple[float, float]]:
    sides: dict[int, dict[str, float]] = {}
    for row in rows:
        value = row["value"]
        if value is not None and value > 0:
            sides.setdefault(row["pair"], {})[row["side"]] = value
    both = [pair for _, pair in sorted(sides.items()) if len(pair) == 2]
    return [(pair["baseline"], pair["candidate"]) for pair in both]


def _as_loss_percent(estimate: Estimate, *, higher_is_better: bool) -> Estimate:
    """From log ratios to percent of the baseline, positive where the candidate is worse."""

    def percent(log_ratio: float) -> float:
        ratio_sign = -1.0 if higher_is_better else 1.0
        return ratio_sign * math.expm1(ratio_sign * log_ratio) * 100

    return replace(
        estimate,
        effect=percent(estimate.effect),
        lower=percent(estimate.lower),
        upper=percent(estimate.upper),
    )


def _why_unusable(
    name: str, repetitions: Rows, pairs: int, least: int = 2
) -> tuple[Unusable, str] | None:
    """Why a workload's numbers must not be compared; None where they may."""
    rows = [row for row in repetitions if row["workload"] == name]
    if not rows:
        return "missing", f"no repetition of {name} was recorded"
    fingerprints: dict[int, set[str]] = {}
    for row in rows:
        fingerprints.setdefault(row["pair"], set()).add(row["config_fp"])
    changed = sorted(pair for pair, found in fingerprints.items() if len(found) > 1)
    if changed:
        return (
            "config-changed",
            f"the configuration differs between the sides of pair {changed[0] + 1}",
        )
    if pairs < least:
        bad = [row for row in rows if row["status"] != "valid"]
        if bad:
            first = bad[0]
            reasons = "; ".join(first["reasons"])
            return (
                "invalid",
                f"{len(bad)} of {len(rows)} repetitions unusable: {first['side']}, {reasons}",
            )
        return "missing", f"{pairs} complete pairs, {least} needed"
    return None


def eval_finding(
    objective: EvalObjective, *, repetitions: Rows, eval_pairs: Rows, alpha: float
) -> Finding:
    """Estimate the drop in accuracy over the questions that both sides answered."""
    rows = [
        row
        for row in eval_pairs
        if row["task"] == objective.task
        and row["baseline_score"] is not None
        and row["candidate_score"] is not None
    ]
    finding = Finding(
        subject=f"eval/{objective.task}/accuracy",
        blocking=objective.blocking,
        margin=objective.margin_points,
        unit="points",
        value_unit="%",
        higher_is_better=True,
    )
    unusable = _why_unusable(objective.task, repetitions, len(rows), least=1)
    if unusable is not None:
        kind, why = unusable
        return replace(finding, unusable=kind, why_unusable=why)
    losses = sum(row["baseline_score"] > row["candidate_score"] for row in rows)
    gains = sum(row["baseline_score"] < row["candidate_score"] for row in rows)
    found = paired_share(losses, gains, len(rows), alpha)
    estimate = replace(
        found, effect=found.effect * 100, lower=found.lower * 100, upper=found.upper * 100
    )
    return replace(
        finding,
        estimate=estimate,
        baseline=100 * sum(row["baseline_score"] for row in rows) / len(rows),
        candidate=100 * sum(row["candidate_score"] for row in rows) / len(rows),
    )


def failure_finding(name: str, *, repetitions: Rows) -> Finding:
    """Compare the shares of failed requests; failures of invalid repetitions count too."""
    sides = {"baseline": (0, 0), "candidate": (0, 0)}
    for row in repetitions:
        if row["workload"] == name:
            failed, total = sides[row["side"]]
            sides[row["side"]] = (
                failed + row["failed"],
                total + row["failed"] + row["completed"],
            )
    finding = Finding(
        subject=f"requests/{name}/failed",
        blocking=True,
        margin=FAILURE_MARGIN_POINTS,
        unit="points",
        value_unit="%",
    )
    if not all(total for _, total in sides.values()):
        why = f"no requests of {name} on both sides"
        return replace(finding, unusable="missing", why_unusable=why)
    shares = {side: 100 * failed / total for side, (failed, total) in sides.items()}
    effect = shares["candidate"] - shares["baseline"]
    p_value = more_failures(sides["candidate"], sides["baseline"])
    # A count of failures has no repeated measurement around it; the difference stands as it is,
    # and only a rise that chance does not explain is a verdict against the candidate.
    estimate = Estimate(
        effect=effect, lower=effect, upper=effect, p_value=p_value, n=sides["candidate"][1]
    )
    return replace(
        finding,
        estimate=estimate,
        baseline=shares["baseline"],
        candidate=shares["candidate"],
    )
