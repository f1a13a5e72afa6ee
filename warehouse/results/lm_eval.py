"""lm-eval's results and samples, in the layouts of before and after answer filters got names.

A result's key is ``metric,filter`` today and was ``metric`` before. Lines of samples are read in
lm_eval_samples.
"""

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gauntlet.warehouse.batch import Batch, content_id
from gauntlet.warehouse.results.identity import (
    Found,
    Identity,
    UnreadableResultError,
    repetition_of,
    timeless,
)
from gauntlet.warehouse.results.lm_eval_samples import (
    LmEvalSample,
    UnreadableSampleError,
    read_sample,
)
from gauntlet.warehouse.rows.base import Row, implausible_instant
from gauntlet.warehouse.rows.ingest import RejectedRow
from gauntlet.warehouse.rows.measurement import EvalResultRow, EvalSampleRow, RepetitionRow

_SOURCE = "lm-eval"
_TEXT_LIMIT = 16_000


class LmEvalResults(BaseModel):
    """What is read of a results file."""

    model_config = ConfigDict(extra="ignore")

    results: Mapping[str, Mapping[str, Any]]
    versions: Mapping[str, Any] = Field(default_factory=dict)
    fewshot: Mapping[str, int | None] = Field(default_factory=dict, alias="n-shot")
    higher_is_better: Mapping[str, Mapping[str, bool | None]] = Field(default_factory=dict)
    samples: Mapping[str, Mapping[str, int]] = Field(default_factory=dict, alias="n-samples")
    config: Mapping[str, Any] = Field(default_factory=dict)
    configs: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)
    date: float | None = None
    lm_eval_version: str = ""
    model_name: str = ""
    task_hashes: Mapping[str, str] = Field(default_factory=dict)
    total_evaluation_time_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Score:
    metric: str
    filter: str
    value: float | None
    stderr: float | None


def lm_eval_batches(
    data: bytes,
    samples: Mapping[str, bytes],
    *,
    file: str,
    identity: Identity,
    now: datetime,
) -> list[tuple[Batch, tuple[str, ...]]]:
    """Read a results file and the samples of its tasks: a batch a task, and what is wrong with it.

    A score that is no number between 0 and 1 (or 0 and 100), or not finite, makes the repetition
    invalid. Raises UnreadableResultError.
    """
    parsed = read_results(data, file)
    content = hashlib.sha256(data).hexdigest()
    return [
        _task_batch(parsed, task, content, samples.get(task, b""), file, identity, now)
        for task in parsed.results
    ]


def samples_beside(results: Path) -> dict[str, bytes]:
    """Samples of the same run, by task: they carry the time stamp of the results' name.

    ``results_T.json`` stands beside ``samples_TASK_T.jsonl``; a prefix before either is the same.
    """
    prefix, found, stamp = results.stem.partition("results_")
    if not found:
        return {}
    samples = {}
    for path in results.parent.glob(f"{prefix}samples_*_{stamp}.jsonl"):
        task = path.stem.removeprefix(f"{prefix}samples_").removesuffix(f"_{stamp}")
        samples[task] = path.read_bytes()
    return samples


def read_results(data: bytes, file: str) -> LmEvalResults:
    """Parse a results file. Raises UnreadableResultError."""
    try:
        parsed = LmEvalResults.model_validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "file"
        msg = f"{file}: not lm-eval's results: {where}: {first['msg']}"
        raise UnreadableResultError(msg, hint="give results_*.json of lm-eval") from error
    if not parsed.results:
        raise UnreadableResultError(f"{file}: results: no task was evaluated")
    return parsed


def _task_batch(
    parsed: LmEvalResults,
    task: str,
    content: str,
    samples: bytes,
    file: str,
    identity: Identity,
    now: datetime,
) -> tuple[Batch, tuple[str, ...]]:
    scores = list(_scores(parsed.results[task]))
    ended = datetime.fromtimestamp(parsed.date, UTC) if parsed.date else now
    reasons = [problem for score in scores if (problem := _impossible(task, score))]
    if problem := implausible_instant(ended, now):
        reasons.append(f"date: {problem}")
        ended = now
    if not scores:
        reasons.append(f"results.{task}: no metric")
    answers = list(_answers(samples, task, file, now))
    sampled = {row.item_id for row in answers if isinstance(row, EvalSampleRow)}
    n = parsed.samples.get(task, {}).get("effective") or len(sampled)
    seconds = parsed.total_evaluation_time_seconds or 0.0
    row = repetition_of(
        Found(
            source=_SOURCE,
            content=content,
            file=file,
            kind="eval",
            workload=task,
            point="",
            model=parsed.model_name or str(parsed.config.get("model", "")),
            client=_SOURCE,
            client_version=parsed.lm_eval_version,
            started_at=ended - timedelta(seconds=seconds),
            ended_at=ended,
            completed=n,
            failed=0,
            reasons=tuple(reasons),
            settings=task_settings(parsed, task),
        ),
        identity,
    )
    shared = {"run_id": row.run_id, "repetition_id": row.repetition_id, "series_id": row.series_id}
    rows: list[Row] = [
        each.model_copy(update=shared) if isinstance(each, EvalSampleRow) else each
        for each in answers
    ]
    if not reasons:
        rows += _result_rows(parsed, task, scores, row, n)
    batch_id = content_id(_SOURCE, content.encode(), samples, timeless(row))
    batch = Batch.of(batch_id, [*rows, row], source=_SOURCE, created_at=now)
    return batch, row.reasons


def _result_rows(
    parsed: LmEvalResults, task: str, scores: Sequence[_Score], row: RepetitionRow, n: int
) -> Iterator[EvalResultRow]:
    asked = parsed.samples.get(task, {})
    for score in scores:
        yield EvalResultRow(
            run_id=row.run_id,
            repetition_id=row.repetition_id,
            series_id=row.series_id,
            task=task,
            task_version=str(parsed.versions.get(task, "")),
            harness=_SOURCE,
            harness_version=parsed.lm_eval_version,
            fewshot=parsed.fewshot.get(task),
            metric=score.metric,
            filter=score.filter,
            value=score.value,
            # Equal scores of few samples give an error of exactly 0: no precision, no number.
            stderr=score.stderr or None,
            direction=_direction(parsed, task, score.metric),
            n=n,
            partial=asked.get("effective", n) < asked.get("original", n),
        )


def _scores(result: Mapping[str, Any]) -> Iterator[_Score]:
    for key, value in result.items():
        metric, _, answer_filter = key.partition(",")
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if metric.endswith("_stderr") or metric in {"sample_len", "alias", "samples"}:
            continue
        stderr_key = f"{metric}_stderr,{answer_filter}" if answer_filter else f"{metric}_stderr"
        stderr = result.get(stderr_key)
        known = isinstance(stderr, int | float) and math.isfinite(stderr)
        yield _Score(
            metric=metric,
            filter="" if answer_filter == "none" else answer_filter,
            value=float(value),
            stderr=float(stderr) if known and stderr is not None else None,
        )


def _impossible(task: str, score: _Score) -> str | None:
    name = f"results.{task}.{score.metric},{score.filter}".rstrip(",")
    if score.value is None or not math.isfinite(score.value):
        return f"{name}: {score.value} is no score"
    if score.metric in {"exact_match", "acc", "acc_norm", "pass@1"} and not 0 <= score.value <= 1:
        return f"{name}: {score.value:g} is not between 0 and 1"
    return None


def _direction(parsed: LmEvalResults, task: str, metric: str) -> Any:  # noqa: ANN401
    return "lower" if parsed.higher_is_better.get(task, {}).get(metric) is False else "higher"


def task_settings(parsed: LmEvalResults, task: str) -> dict[str, str]:
    """What could change the score: shots, generation, seeds, the task's own text, the template."""
    config = parsed.config
    found = {
        "fewshot": parsed.fewshot.get(task),
        "limit": config.get("limit"),
        "gen_kwargs": config.get("gen_kwargs")
        or parsed.configs.get(task, {}).get("generation_kwargs"),
        "fewshot_seed": config.get("fewshot_seed"),
        "random_seed": config.get("random_seed"),
        "task_hash": parsed.task_hashes.get(task),
        "task_version": parsed.versions.get(task),
    }
    return {key: str(value) for key, value in found.items() if value is not None}


def _answers(data: bytes, task: str, file: str, now: datetime) -> Iterator[Row]:
    for number, line in enumerate(data.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            yield _row(read_sample(line), task)
        except UnreadableSampleError as error:
            yield RejectedRow(
                source=_SOURCE,
                origin=file,
                position=f"samples of {task}, line {number}",
                target="eval_samples",
                reasons=(str(error),),
                raw=line[:2_000].decode("utf-8", errors="replace"),
                at=now,
            )


def _row(sample: LmEvalSample, task: str) -> EvalSampleRow:
    return EvalSampleRow(
        run_id="",
        repetition_id="",
        side="single",
        task=task,
        item_id=sample.doc_id,
        pair=0,
        status=sample.status,
        score=sample.score,
        answer=sample.answer[:_TEXT_LIMIT],
        expected=sample.expected[:_TEXT_LIMIT],
        filter=sample.filter,
        question=sample.question[:_TEXT_LIMIT],
        response=sample.response[:_TEXT_LIMIT],
    )
