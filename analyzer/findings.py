"""From the stored rows of one session to findings: loads, answers, failures. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gauntlet.analyzer.accuracy.evidence import AnswersEvidence
from gauntlet.analyzer.accuracy.samples import question_of
from gauntlet.analyzer.comparison.decide import Finding
from gauntlet.analyzer.comparison.find import failures_finding, find_failures, find_loads, spots_of
from gauntlet.analyzer.comparison.margins import Margins
from gauntlet.analyzer.comparison.objectives import labels_of, objectives_by_recipe
from gauntlet.analyzer.comparison.refusals import config_change
from gauntlet.analyzer.measured import Measured, Place, Statistic
from gauntlet.perf_eval.recipe import EvalObjective, Recipe

Rows = Sequence[Mapping[str, Any]]


def find_all(
    recipe: Recipe, *, repetitions: Rows, metrics: Rows, eval_pairs: Rows, margins: Margins
) -> list[Finding]:
    """One finding per objective of the recipe and point, and one on failures per workload and task.

    ``repetitions``, ``metrics`` and ``eval_pairs`` are the rows of the queries run_repetitions,
    run_metrics and run_eval_pairs. A recipe's metrics all have a direction in the margins.
    """
    measured = measured_of_rows(repetitions, metrics)
    objectives, _ = objectives_by_recipe(recipe.judge.load, measured, margins)
    findings = find_loads(objectives, measured, common_share=margins.common_share, history={})
    findings += [
        eval_finding(objective, repetitions=repetitions, eval_pairs=eval_pairs)
        for objective in recipe.judge.evals
    ]
    by_spot = spots_of(measured)
    labels = labels_of(by_spot)
    for workload in recipe.workloads:
        spots = [spot for spot in sorted(by_spot) if spot.workload == workload.name]
        findings += [find_failures(labels[spot], by_spot[spot]) for spot in spots]
        if not spots:
            findings.append(failure_finding(workload.name, repetitions=[]))
    findings += [failure_finding(task.name, repetitions=repetitions) for task in recipe.evals]
    return findings


def measured_of_rows(repetitions: Rows, metrics: Rows) -> list[Measured]:
    """The load repetitions of one run with their metrics over the full window."""
    values: dict[str, dict[Statistic, float | None]] = {}
    for row in metrics:
        if row["window"] == "full":
            of_repetition = values.setdefault(row["repetition_id"], {})
            of_repetition[Statistic(row["metric"], row["statistic"])] = row["value"]
    return [
        _measured(row, values.get(row["repetition_id"], {}))
        for row in repetitions
        if row["kind"] == "load"
    ]


def _measured(row: Mapping[str, Any], values: Mapping[Statistic, float | None]) -> Measured:
    return Measured(
        repetition_id=row["repetition_id"],
        # One run has one recipe, and the fingerprint covers its model.
        place=Place("", row["workload"], row["point"], "", row["accelerator"] or ""),
        side=row["side"],
        session="run",
        pair=row["pair"],
        position=row["position"],
        status=row["status"],
        reasons=tuple(row["reasons"]),
        config_fp=row["config_fp"],
        settings=row["settings"],
        host=row["host"],
        driver=row["driver"] or "",
        prompts=row["settings"].get("plan_digest", ""),
        completed=row["completed"],
        failed=row["failed"],
        values=values,
    )


def eval_finding(objective: EvalObjective, *, repetitions: Rows, eval_pairs: Rows) -> Finding:
    """Estimate the drop in accuracy over the questions that both sides answered.

    A question that was asked again, by repeats or in another pair, is still one question.
    """
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
    finding = _refused_eval(finding, objective.task, repetitions, len(rows))
    if finding.why_unusable:
        return finding
    return replace(
        finding,
        evidence=AnswersEvidence(
            drops=tuple(row["baseline_score"] - row["candidate_score"] for row in rows),
            clusters=tuple(question_of(row["item_id"]) for row in rows),
        ),
        baseline=100 * sum(row["baseline_score"] for row in rows) / len(rows),
        candidate=100 * sum(row["candidate_score"] for row in rows) / len(rows),
    )


def _refused_eval(finding: Finding, task: str, repetitions: Rows, answered: int) -> Finding:
    """The finding as it is, or with why its answers must not be compared."""
    rows = [row for row in repetitions if row["workload"] == task]
    if not rows:
        return replace(finding, why_unusable=f"no repetition of {task} was recorded")
    changed = config_change([_measured(row, {}) for row in rows])
    if changed is not None:
        return replace(finding, unusable="config-changed", why_unusable=changed)
    if answered:
        return finding
    bad = [row for row in rows if row["status"] != "valid"]
    if bad:
        why = f"{len(bad)} of {len(rows)} repetitions unusable: {bad[0]['side']}, "
        why += "; ".join(bad[0]["reasons"])
        return replace(finding, unusable="invalid", why_unusable=why)
    return replace(finding, why_unusable="no question was answered by both sides")


def failure_finding(name: str, *, repetitions: Rows) -> Finding:
    """Compare the shares of failed requests of a task; those of invalid repetitions count too."""

    def counts(side: str) -> tuple[int, int]:
        rows = [row for row in repetitions if (row["workload"], row["side"]) == (name, side)]
        failed = sum(row["failed"] for row in rows)
        return failed, failed + sum(row["completed"] for row in rows)

    return failures_finding(name, counts("baseline"), counts("candidate"))
