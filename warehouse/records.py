"""Rows of the warehouse as typed models; one class per table, one field per column.

Times are aware and in UTC, durations and latencies carry their unit in the name, and what was
not measured is None, never 0.
"""

import json
from datetime import datetime
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, AwareDatetime, Field, FiniteFloat, model_validator

from gauntlet.core.yaml_file import StrictModel

Side = Literal["baseline", "candidate"]
RunStatus = Literal["running", "complete", "failed", "interrupted"]
RepetitionStatus = Literal["valid", "invalid", "failed"]
DecisionKind = Literal["selection", "verdict", "gate", "release"]
Direction = Literal["lower", "higher"]
Verdict = Literal["better", "same", "worse", "inconclusive", "config-changed", "invalid", "missing"]

# A latency before the year 2001 in epoch milliseconds would pass as "large"; no request of a
# measured run lasts a day, so anything above is a clock that was mistaken for a duration.
_LONGEST_MS = 86_400_000.0


def _plausible_duration(value: float) -> float:
    if not 0 <= value <= _LONGEST_MS:
        msg = f"a duration in ms must lie in 0..{_LONGEST_MS:.0f}"
        raise ValueError(msg)
    return value


Milliseconds = Annotated[FiniteFloat, AfterValidator(_plausible_duration)]


class Row(StrictModel):
    """Base of all rows."""

    table: ClassVar[str]


class RunRow(Row):
    """One version of a run's state; the row with the highest ``version`` is current."""

    table: ClassVar[str] = "runs"

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
    started_at: AwareDatetime
    updated_at: AwareDatetime


class RepetitionRow(Row):
    """One workload or eval, once, against one side; failures and invalid ones too."""

    table: ClassVar[str] = "repetitions"

    run_id: str
    repetition_id: str
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
    seed: int = Field(ge=0)
    started_at: AwareDatetime
    ended_at: AwareDatetime
    completed: int = Field(ge=0)
    failed: int = Field(ge=0)

    @model_validator(mode="after")
    def _failed_means_reasons(self) -> Self:
        if self.status != "valid" and not self.reasons:
            msg = "a repetition that is not valid needs a reason"
            raise ValueError(msg)
        return self


class MetricRow(Row):
    """One number of one repetition; ``n`` is the number of observations behind it."""

    table: ClassVar[str] = "metrics"

    run_id: str
    repetition_id: str
    side: Side
    workload: str
    pair: int = Field(ge=0)
    metric: str
    statistic: str
    value: FiniteFloat | None
    unit: str
    direction: Direction
    n: int = Field(ge=0)


class RequestRow(Row):
    """One request of a load repetition; latencies are None where the request failed."""

    table: ClassVar[str] = "requests"

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
    e2e_ms: Milliseconds | None = None


class EvalSampleRow(Row):
    """One question, once; ``score`` is None where no answer could be judged."""

    table: ClassVar[str] = "eval_samples"

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


class DecisionRow(Row):
    """One verdict, gate result or run-level decision; never changed, only followed by another."""

    table: ClassVar[str] = "decisions"

    decision_id: str
    run_id: str
    kind: DecisionKind
    subject: str
    outcome: str
    blocking: bool
    reason: str
    evidence: str
    at: AwareDatetime

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


TABLES: dict[str, type[Row]] = {
    model.table: model
    for model in (RunRow, RepetitionRow, MetricRow, RequestRow, EvalSampleRow, DecisionRow)
}


class Batch(StrictModel):
    """Rows that belong together: they are spooled, shipped and found again as one."""

    batch_id: str
    created_at: datetime
    runs: tuple[RunRow, ...] = ()
    repetitions: tuple[RepetitionRow, ...] = ()
    metrics: tuple[MetricRow, ...] = ()
    requests: tuple[RequestRow, ...] = ()
    eval_samples: tuple[EvalSampleRow, ...] = ()
    decisions: tuple[DecisionRow, ...] = ()

    def by_table(self) -> dict[str, tuple[Row, ...]]:
        """Rows by table name, tables without rows left out."""
        rows = {name: getattr(self, name) for name in TABLES}
        return {name: found for name, found in rows.items() if found}
