"""What a page needs, read in one visit to the warehouse and then held as plain frames."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from gauntlet.warehouse.store import Store

_SEVERITY = {"worse": 0, "invalid": 1, "config-changed": 1, "missing": 2, "inconclusive": 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPage:
    """Everything that the page of one run shows; frames are empty where nothing was recorded."""

    run: dict[str, Any]
    release: dict[str, Any] | None
    selection: dict[str, Any] | None
    gates: pd.DataFrame
    verdicts: pd.DataFrame
    metrics: pd.DataFrame
    distributions: pd.DataFrame
    repetitions: pd.DataFrame
    eval_pairs: pd.DataFrame


def load_run(store: Store, run: dict[str, Any]) -> RunPage:
    """Everything about one run of the named query ``runs``."""
    run_id = run["run_id"]
    decisions = store.query("run_decisions", run_id=run_id)
    repetitions = _frame(store.query("run_repetitions", run_id=run_id))
    return RunPage(
        run=run,
        release=_only(decisions, "release"),
        selection=_only(decisions, "selection"),
        gates=_frame([row for row in decisions if row["kind"] == "gate"]),
        verdicts=verdict_frame(decisions),
        metrics=_frame(store.query("run_metrics", run_id=run_id)),
        distributions=_frame(store.query("request_quantiles", run_id=run_id)),
        repetitions=repetitions,
        eval_pairs=_frame(store.query("run_eval_pairs", run_id=run_id)),
    )


def verdict_frame(decisions: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Verdict rows with the numbers of their evidence as columns."""
    verdicts = [row for row in decisions if row["kind"] == "verdict"]
    return _frame([_with_evidence(row) for row in verdicts])


def _with_evidence(row: dict[str, Any]) -> dict[str, Any]:
    evidence = json.loads(row["evidence"])
    lower, upper = evidence.pop("interval") or (None, None)
    known = {"outcome": row["outcome"], "decided_at": row["decided_at"]}
    return {**evidence, **known, "lower": lower, "upper": upper}


def by_severity(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Verdicts that stop a release first, then the rest in their own order."""
    rank = verdicts["outcome"].map(_SEVERITY).fillna(len(_SEVERITY))
    return verdicts.assign(rank=rank).sort_values("rank", kind="stable").drop(columns="rank")


def changed_answers(eval_pairs: pd.DataFrame) -> pd.DataFrame:
    """Questions on which the two sides differ, losses first."""
    if eval_pairs.empty:
        return eval_pairs
    judged = eval_pairs.dropna(subset=["baseline_score", "candidate_score"])
    differing = judged[judged["baseline_score"] != judged["candidate_score"]].copy()
    differing["change"] = differing["candidate_score"] - differing["baseline_score"]
    return differing.sort_values(["change", "task", "item_id"])


def _only(decisions: Sequence[dict[str, Any]], kind: str) -> dict[str, Any] | None:
    return next((row for row in decisions if row["kind"] == kind), None)


def _frame(rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    return pd.DataFrame.from_records(list(rows))
