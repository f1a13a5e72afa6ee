"""Compare the two sides of a run: read its rows, decide, and record the verdicts."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from gauntlet.analyzer.comparison.decide import decide
from gauntlet.analyzer.comparison.looks import Budget
from gauntlet.analyzer.comparison.margins import load_margins
from gauntlet.analyzer.findings import find_all
from gauntlet.analyzer.verdict import Verdict
from gauntlet.core.errors import UsageError
from gauntlet.perf_eval.judgement import PAIRS_PER_BLOCK
from gauntlet.perf_eval.recipe import Recipe
from gauntlet.warehouse.rows.measurement import DecisionRow
from gauntlet.warehouse.store import Store


def compare_run(store: Store, run_id: str) -> list[Verdict]:
    """Judge a run from what the warehouse has of it.

    Raises UsageError where there is no such run.
    """
    return judge_rows(store, run_id, recipe_of(store, run_id))


def recipe_of(store: Store, run_id: str) -> Recipe:
    """The recipe that a run was measured with. Raises UsageError where there is no such run."""
    rows = store.query("run", run_id=run_id)
    if not rows:
        msg = f"no run {run_id!r} in {store.location}"
        raise UsageError(msg, hint="`gauntlet warehouse query runs --param limit=20` lists them")
    return Recipe.model_validate_json(rows[0]["recipe_definition"])


def judge_rows(store: Store, run_id: str, recipe: Recipe) -> list[Verdict]:
    """Judge a run with a given recipe, without recording anything."""
    repetitions = store.query("run_repetitions", run_id=run_id)
    findings = find_all(
        recipe,
        repetitions=repetitions,
        metrics=store.query("run_metrics", run_id=run_id),
        eval_pairs=store.query("run_eval_pairs", run_id=run_id),
        margins=load_margins(),
    )
    return decide(findings, _budget(recipe, repetitions))


def _budget(recipe: Recipe, repetitions: Sequence[Mapping[str, Any]]) -> Budget:
    """What this look may spend: a share of the planned blocks has been measured."""
    pairs = max((row["pair"] + 1 for row in repetitions), default=0)
    return Budget(
        false_alarm_rate=recipe.judge.false_alarm_rate,
        shares=recipe.blocks.looks(-(-pairs // PAIRS_PER_BLOCK)),
    )


def worth_more(verdicts: Sequence[Verdict]) -> bool:
    """Whether more repetitions could change the outcome: something open, and nothing worse yet."""
    outcomes = {verdict.outcome for verdict in verdicts if verdict.blocking}
    return "inconclusive" in outcomes and "worse" not in outcomes


def verdict_rows(run_id: str, verdicts: Sequence[Verdict], at: datetime) -> tuple[DecisionRow, ...]:
    """Make the append-only decision rows of one judgement."""
    return tuple(
        DecisionRow.of(
            run_id,
            "verdict",
            verdict.subject,
            verdict.outcome,
            reason=verdict.reason,
            evidence=verdict.plain(),
            at=at,
            blocking=verdict.blocking,
        )
        for verdict in verdicts
    )
