"""Candidates of a made-up release: measured values are drawn, verdicts and gates are real.

One candidate decodes slower, one answers worse, the last is as good as the release before.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from gauntlet import __version__
from gauntlet.analyzer.compare import judge_rows, verdict_rows
from gauntlet.core.ids import digest
from gauntlet.perf_eval.recipe import Recipe, load_recipe
from gauntlet.release.gates.qualification import load_policy
from gauntlet.release.gates.verdicts import evaluate, gate_rows
from gauntlet.warehouse.batch import Batch, decision_batch
from gauntlet.warehouse.rows.base import Row
from gauntlet.warehouse.rows.measurement import (
    DecisionRow,
    EvalSampleRow,
    MetricRow,
    RepetitionRow,
    RequestRow,
    RunRow,
    Side,
    series_of,
)
from gauntlet.warehouse.store import Store

_PAIRS = 6
_REQUESTS = 60
_SIDES: tuple[Side, Side] = ("baseline", "candidate")
_QUESTIONS = 320


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A candidate: its name, and by which factor it is slower, which share of answers it loses."""

    name: str
    commit: str
    measured_at: datetime
    slower: float = 1.0
    lost: float = 0.0


def store_candidates(store: Store, commits: list[str], now: datetime) -> None:
    """Store three candidates of the given commits, newest first, with verdicts and gates."""
    recipe = load_recipe("smoke")
    mishaps: tuple[dict[str, float], ...] = ({}, {"lost": 0.06}, {"slower": 1.08})
    for index, (commit, mishap) in enumerate(zip(commits, mishaps, strict=False)):
        candidate = Candidate(
            name=f"v0.42.0rc{len(mishaps) - index}",
            commit=commit,
            measured_at=now - timedelta(days=2 * index, hours=3),
            **mishap,
        )
        _store(store, candidate, recipe)


def _store(store: Store, candidate: Candidate, recipe: Recipe) -> None:
    at, run_id = candidate.measured_at, candidate.name
    store.insert(Batch.of(f"{run_id}/measured", _rows(candidate, recipe), created_at=at))
    ended = at + timedelta(minutes=50)
    verdicts = verdict_rows(run_id, judge_rows(store, run_id, recipe), ended)
    store.insert(decision_batch(run_id, "verdicts", verdicts, ended))
    decided = evaluate(load_policy(), store.query("run_decisions", run_id=run_id))
    gates: list[Row] = list(gate_rows(run_id, decided, ended))
    if candidate.lost:
        gates.append(_waiver(candidate, ended))
    store.insert(decision_batch(run_id, "gates", gates, ended))


def _waiver(candidate: Candidate, at: datetime) -> DecisionRow:
    return DecisionRow(
        decision_id=f"{candidate.name}/waiver/accuracy",
        run_id=candidate.name,
        kind="waiver",
        subject="gate/accuracy",
        outcome="waived",
        blocking=False,
        reason="Known change of the answer format; its fix is in the next candidate.",
        evidence="{}",
        at=at + timedelta(hours=1),
        actor="release-manager",
        expires_at=at + timedelta(days=7),
    )


def _rows(candidate: Candidate, recipe: Recipe) -> Iterator[Row]:
    dice = random.Random(candidate.name)  # noqa: S311
    at = candidate.measured_at
    definition = recipe.model_dump_json()
    yield RunRow(
        run_id=candidate.name,
        version=1,
        recipe=recipe.name,
        recipe_digest=digest(recipe.model_dump(mode="json")),
        recipe_definition=definition,
        engine_kind="vllm",
        gauntlet_version=__version__,
        host="h200-node-1",
        seed=7,
        status="complete",
        started_at=at,
        updated_at=at + timedelta(minutes=50),
    )
    for pair in range(_PAIRS):
        drift = 1 + dice.gauss(0, 0.01)
        for position, side in enumerate(_SIDES if pair % 2 == 0 else reversed(_SIDES)):
            slower = drift * (candidate.slower if side == "candidate" else 1.0)
            for workload, tpot in (("random", 9.5), ("trace", 14.0)):
                turn = _Turn(candidate, recipe, workload, side, pair, position)
                yield from _load(turn, tpot * slower * (1 + dice.gauss(0, 0.006)), dice)
    for task in ("gsm8k", "tool_calls"):
        for position, side in enumerate(_SIDES):
            turn = _Turn(candidate, recipe, task, side, 0, position)
            yield from _answers(turn, candidate.lost if side == "candidate" else 0.0)


@dataclass(frozen=True, slots=True)
class _Turn:
    candidate: Candidate
    recipe: Recipe
    workload: str
    side: Side
    pair: int
    position: int

    @property
    def id(self) -> str:
        return f"{self.candidate.name}/{self.workload}/{self.pair}/{self.side}"

    @property
    def series(self) -> str:
        return series_of(
            recipe=self.recipe.name,
            workload=self.workload,
            model="example/atlas-8b",
            accelerator="H200",
        )

    def repetition(self, *, kind: str, client: str, completed: int) -> RepetitionRow:
        commit = self.candidate.commit if self.side == "candidate" else "0" * 40
        minutes = 2 * self.pair + self.position
        at = self.candidate.measured_at + timedelta(minutes=minutes)
        return RepetitionRow.model_validate(
            {
                "run_id": self.candidate.name,
                "repetition_id": self.id,
                "series_id": self.series,
                "recipe": self.recipe.name,
                "side": self.side,
                "workload": self.workload,
                "kind": kind,
                "pair": self.pair,
                "position": self.position,
                "status": "valid",
                "config_fp": f"made-up-{self.workload}",
                "engine_kind": "vllm",
                "engine_version": "0.42.0" if self.side == "candidate" else "0.41.0",
                "engine_commit": commit,
                "image_digest": f"sha256:{digest([commit])}",
                "model": "example/atlas-8b",
                "host": "h200-node-1",
                "accelerator": "H200",
                "driver": "580.65",
                "client": client,
                "client_version": __version__,
                "dataset_digest": f"made-up-{self.workload}",
                "seed": 7 + self.pair,
                "started_at": at,
                "ended_at": at + timedelta(seconds=50),
                "completed": completed,
                "failed": 0,
            }
        )


def _load(turn: _Turn, tpot: float, dice: random.Random) -> Iterator[Row]:
    yield turn.repetition(kind="load", client="gauntlet-load", completed=_REQUESTS)
    shared = {
        "run_id": turn.candidate.name,
        "repetition_id": turn.id,
        "side": turn.side,
        "workload": turn.workload,
        "pair": turn.pair,
    }
    for index in range(_REQUESTS):
        each = tpot * (1 + abs(dice.gauss(0, 0.05)))
        ttft = tpot * dice.uniform(6, 11)
        yield RequestRow.model_validate(
            {
                **shared,
                "request_index": index,
                "status": "ok",
                "prompt_tokens": 128,
                "output_tokens": 40,
                "sent_ms": index * 20.0,
                "ttft_ms": ttft,
                "tpot_ms": each,
                "e2e_ms": ttft + 39 * each,
            }
        )
    values = {
        ("ttft_ms", "mean", "ms", "lower"): 8.5 * tpot * (1 + dice.gauss(0, 0.01)),
        ("ttft_ms", "p50", "ms", "lower"): 8.4 * tpot * (1 + dice.gauss(0, 0.02)),
        ("ttft_ms", "p99", "ms", "lower"): 11 * tpot * (1 + dice.gauss(0, 0.03)),
        ("tpot_ms", "p50", "ms", "lower"): 1.03 * tpot,
        ("e2e_ms", "p50", "ms", "lower"): 48.7 * tpot,
        ("output_tokens_per_s", "total", "tokens/s", "higher"): 7000 / tpot,
    }
    for (metric, statistic, unit, direction), value in values.items():
        yield MetricRow.model_validate(
            {
                **shared,
                "series_id": turn.series,
                "metric": metric,
                "statistic": statistic,
                "value": value,
                "unit": unit,
                "direction": direction,
                "n": _REQUESTS,
            }
        )


def _answers(turn: _Turn, lost: float) -> Iterator[Row]:
    yield turn.repetition(kind="eval", client="lm-eval", completed=_QUESTIONS)
    # Both sides are asked the same questions, of which most are answered alike.
    asked = random.Random(turn.workload)  # noqa: S311
    for item in range(_QUESTIONS):
        hard, unlucky = asked.random(), asked.random()
        right = hard < 0.86 and unlucky >= lost
        answer = str(item * 7 if right else item * 7 + 1)
        yield EvalSampleRow(
            run_id=turn.candidate.name,
            repetition_id=turn.id,
            side=turn.side,
            task=turn.workload,
            item_id=f"{item:04d}",
            pair=0,
            status="scored",
            score=float(right),
            answer=answer,
            expected=str(item * 7),
            series_id=turn.series,
            question=f"There are {item} boxes with 7 pens each. How many pens are there?",
            response=f"{item} boxes times 7 pens are {answer}. #### {answer}",
            finish_reason="stop",
            output_tokens=24,
        )
