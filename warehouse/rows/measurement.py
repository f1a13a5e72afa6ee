"""Rows of what a run measured: runs, repetitions, metrics, requests, evals, decisions."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar, Literal, Self

from pydantic import Field, FiniteFloat, model_validator

from gauntlet.core.ids import digest
from gauntlet.warehouse.rows.base import Milliseconds, Row, UtcTime

Side = Literal["baseline", "candidate", "single"]
RunStatus = Literal["running", "complete", "failed", "interrupted"]
RepetitionStatus = Literal["valid", "invalid", "failed"]
DecisionKind = Literal[
    "selection",
    "verdict",
    "gate",
    "release",
    "alert",
    "incident",
    "quarantine",
    "revert",
    "waiver",
    "annotation",
]
DecisionMode = Literal["shadow", "notify", "act"]
Direction = Literal["lower", "higher"]
Window = Literal["full", "steady"]
Verdict = Literal["better", "same", "worse", "inconclusive", "config-changed", "invalid", "missing"]


class RunRow(Row):
    """One version of a run's state; the row with the highest ``version`` is current."""

    table: ClassVar[str] = "runs"
    identity = ("run_id",)
    order = "version"
    day = "started_at"

    run_id: str
    version: int = Field(ge=0)
    recipe: str
    recipe_digest: str
    recipe_definition: str
    engine_kind: str
    gauntlet_version: str
    host: str
    seed: int = Field(ge=0)
    status: RunStatus
    reason: str = ""
    started_at: UtcTime
    updated_at: UtcTime


def series_of(*, recipe: str, workload: str, model: str, accelerator: str | None) -> str:
    """Name the series that a repetition belongs to: what is drawn as one line over time."""
    return digest([recipe, workload, model, accelerator or "cpu"])[:16]


class RepetitionRow(Row):
    """One workload or eval at one point, once, against one side; failures and invalid ones too.

    ``point`` says in words what was varied (``concurrency=16``), ``settings`` holds what describes
    the experiment beyond the columns. ``source`` names the program whose record this is.
    """

    table: ClassVar[str] = "repetitions"
    identity = ("repetition_id",)
    day = "started_at"

    run_id: str
    repetition_id: str
    series_id: str
    recipe: str
    point: str = ""
    source: str = "gauntlet"
    side: Side
    workload: str
    kind: Literal["load", "eval"]
    pair: int = Field(ge=0)
    position: int = Field(ge=0)
    status: RepetitionStatus
    reasons: tuple[str, ...] = ()
    config_fp: str
    engine_kind: str
    engine_version: str | None
    engine_commit: str | None = None
    image_digest: str | None = None
    model: str
    host: str
    accelerator: str | None = None
    driver: str | None = None
    client: str
    client_version: str
    dataset_digest: str
    seed: int | None = Field(default=None, ge=0)
    started_at: UtcTime
    ended_at: UtcTime
    completed: int = Field(ge=0)
    failed: int = Field(ge=0)
    settings: Mapping[str, str] = Field(default_factory=dict)
    artifact: str | None = None
    artifact_digest: str | None = None
    build_id: str | None = None

    @model_validator(mode="after")
    def _failed_means_reasons(self) -> Self:
        if self.status != "valid" and not self.reasons:
            msg = "a repetition that is not valid needs a reason"
            raise ValueError(msg)
        return self


class MetricRow(Row):
    """One number of one repetition; ``n`` is the number of observations behind it."""

    table: ClassVar[str] = "metrics"
    identity = ("repetition_id", "metric", "statistic", "window")

    run_id: str
    repetition_id: str
    series_id: str
    side: Side
    workload: str
    pair: int = Field(ge=0)
    metric: str
    statistic: str
    window: Window = "full"
    value: FiniteFloat | None
    unit: str
    direction: Direction
    n: int = Field(ge=0)


class RequestRow(Row):
    """One request of a load repetition; latencies are None where the request failed."""

    table: ClassVar[str] = "requests"
    identity = ("repetition_id", "request_index")

    run_id: str
    repetition_id: str
    side: Side
    workload: str
    pair: int = Field(ge=0)
    request_index: int = Field(ge=0)
    status: str
    error: str = ""
    prompt_tokens: int | None = Field(default=None, ge=0)
    cached_tokens: int | None = Field(default=None, ge=0)
    output_tokens: int | None = Field(default=None, ge=0)
    scheduled_ms: Milliseconds | None = None
    sent_ms: Milliseconds
    ttft_ms: Milliseconds | None = None
    tpot_ms: Milliseconds | None = None
    itl_p50_ms: Milliseconds | None = None
    itl_p99_ms: Milliseconds | None = None
    itl_max_ms: Milliseconds | None = None
    e2e_ms: Milliseconds | None = None


class EvalResultRow(Row):
    """One score of one task; ``filter`` is the answer extraction that it was computed with.

    ``stderr`` is None where the source gives none: 0 would claim a certainty.
    """

    table: ClassVar[str] = "eval_results"
    identity = ("repetition_id", "task", "metric", "filter")

    run_id: str
    repetition_id: str
    series_id: str
    task: str
    task_version: str = ""
    harness: str
    harness_version: str
    fewshot: int | None = Field(default=None, ge=0)
    metric: str
    filter: str = ""
    value: FiniteFloat | None
    stderr: FiniteFloat | None = Field(default=None, ge=0)
    direction: Direction = "higher"
    n: int = Field(ge=0)
    partial: bool = False


class EvalSampleRow(Row):
    """One question, once; ``score`` is None where no answer could be judged."""

    table: ClassVar[str] = "eval_samples"
    identity = ("repetition_id", "task", "item_id", "filter")

    run_id: str
    repetition_id: str
    side: Side
    task: str
    item_id: str
    pair: int = Field(ge=0)
    status: Literal["scored", "unparsable", "error"]
    score: FiniteFloat | None
    answer: str
    expected: str
    error: str = ""
    series_id: str = ""
    filter: str = ""
    question: str = ""
    response: str = ""
    finish_reason: str | None = None
    output_tokens: int | None = Field(default=None, ge=0)


class DecisionRow(Row):
    """One decision of a program or a person; never changed, only followed by another.

    ``run_id`` is empty where the decision is about no run; ``supersedes`` names the decision that
    this one takes back; ``expires_at`` ends a quarantine or a waiver by itself.
    """

    table: ClassVar[str] = "decisions"
    identity = ("decision_id",)

    decision_id: str
    run_id: str
    kind: DecisionKind
    subject: str
    outcome: str
    blocking: bool
    reason: str
    evidence: str
    at: UtcTime
    actor: str = "gauntlet"
    mode: DecisionMode = "act"
    supersedes: str | None = None
    expires_at: UtcTime | None = None

    @classmethod
    def of(
        cls,
        run_id: str,
        kind: DecisionKind,
        subject: str,
        outcome: str,
        *,
        reason: str,
        evidence: object,
        at: datetime,
        blocking: bool = True,
    ) -> Self:
        """Make the row of one decision; ``evidence`` is plain data."""
        return cls(
            decision_id=f"{run_id}/{kind}/{subject}/{at:%Y%m%dT%H%M%S%f}",
            run_id=run_id,
            kind=kind,
            subject=subject,
            outcome=outcome,
            blocking=blocking,
            reason=reason,
            evidence=json.dumps(evidence, sort_keys=True),
            at=at,
        )
