"""One repetition of an accuracy task: ask, judge, make the rows."""

import gzip
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import assert_never

from gauntlet.core.clock import utc_now
from gauntlet.core.errors import ConfigError
from gauntlet.core.files import write_atomic
from gauntlet.harness.context import Measured, Measurement
from gauntlet.harness.evals.bfcl import ask_bfcl
from gauntlet.harness.evals.gsm8k import ask_word_problems
from gauntlet.harness.evals.lm_eval import ask_lm_eval
from gauntlet.harness.evals.outcome import Asked, EvalError
from gauntlet.harness.evals.samples import (
    Sample,
    accuracy_rows,
    judge_samples,
    mean,
    pair_items,
    sample_rows,
    truncation_note,
)
from gauntlet.harness.evals.suspicion import Suspicion, suspect_harness
from gauntlet.harness.evals.tool_calls import ask_tool_tasks
from gauntlet.perf_eval.evals import (
    FIRST_SEED,
    BfclEval,
    Eval,
    Gsm8kEval,
    LmEval,
    ToolCallEval,
)
from gauntlet.perf_eval.questions import (
    ToolTask,
    WordProblem,
    generate_tool_tasks,
    generate_word_problems,
    read_tool_tasks,
    read_word_problems,
)
from gauntlet.perf_eval.workloads import Source
from gauntlet.warehouse.rows.measurement import EvalResultRow, RepetitionRow, RepetitionStatus

_TOOLS = {"gsm8k": "lm-eval", "lm_eval": "lm-eval", "bfcl": "bfcl-eval"}
_UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verdict:
    status: RepetitionStatus
    reasons: tuple[str, ...]
    suspicion: Suspicion | None = None


def word_problems(source: Source) -> list[WordProblem]:
    """The problems of a source. Raises ConfigError for a bad file."""
    if source.file is not None:
        return read_word_problems(source.file)
    return generate_word_problems(source.generate or 0, source.seed)


def tool_tasks(source: Source) -> list[ToolTask]:
    """The tasks of a source. Raises ConfigError for a bad file."""
    if source.file is not None:
        return read_tool_tasks(source.file)
    return generate_tool_tasks(source.generate or 0, source.seed)


def measure_eval(
    measurement: Measurement, task: Eval, *, history: Sequence[float] = ()
) -> Measured:
    """Run one repetition of an accuracy task and return its rows.

    ``history`` are earlier scores (0 to 1) of the same series. Whatever becomes of the evaluation
    tool is a repetition that failed, with its class and reason, so that the next measurement goes
    on; only EngineError is raised, and InfrastructureError where nothing can be written.
    """
    started_at = utc_now()
    folder = measurement.workdir / measurement.slot.side / f"{task.name}-{measurement.slot.pair}"
    try:
        asked = _ask(measurement, task, folder)
    except EvalError as error:
        return _failed(measurement, task, error.kind, error.message, folder, started_at)
    except ConfigError as error:
        return _failed(measurement, task, "bad-data", error.message, folder, started_at)
    verdict = judge(asked, history)
    _keep(folder, asked, verdict)
    rows = (
        *accuracy_rows(
            measurement,
            task.name,
            asked.samples,
            max_tokens=asked.max_tokens,
            with_accuracy=not asked.problems,
        ),
        *_result_rows(measurement, task, asked),
        *sample_rows(measurement, task.name, asked.samples),
    )
    lost = sum(sample.status == "error" for sample in asked.samples)
    repetition = measurement.row(
        task,
        status=verdict.status,
        reasons=verdict.reasons,
        client=asked.tool.name,
        client_version=asked.tool.client_version,
        dataset_digest=asked.dataset_digest,
        started_at=started_at,
        ended_at=utc_now(),
        completed=len(asked.samples) - lost,
        failed=lost,
    )
    return Measured(repetition=_described(repetition, asked, folder), rows=rows)


def judge(asked: Asked, history: Sequence[float]) -> _Verdict:
    """Decide whether the answers give an accuracy that can be believed, and say why not."""
    status, reasons = judge_samples(asked.samples)
    if asked.problems:
        status = "failed" if status == "failed" else "invalid"
        reasons = (*reasons, *asked.problems)
    if note := truncation_note(asked.samples, asked.max_tokens):
        reasons = (*reasons, note)
    score = mean(sample.score for sample in asked.samples if sample.score is not None)
    suspicion = None if status == "failed" else suspect_harness(score, history, asked.samples)
    if suspicion is not None:
        status, reasons = "invalid", (suspicion.reason, *reasons)
    return _Verdict(status=status, reasons=reasons, suspicion=suspicion)


def _ask(measurement: Measurement, task: Eval, folder: Path) -> Asked:
    endpoint, pair = measurement.engine.endpoint, measurement.slot.pair
    match task:
        case Gsm8kEval():
            problems = pair_items(
                word_problems(task.source), count=task.items, pairs=task.pairs, pair=pair
            )
            return ask_word_problems(endpoint, task, problems, workdir=folder, seed=FIRST_SEED)
        case ToolCallEval():
            tasks = pair_items(
                tool_tasks(task.source), count=task.items, pairs=task.pairs, pair=pair
            )
            return ask_tool_tasks(endpoint, task, tasks)
        case LmEval():
            return ask_lm_eval(endpoint, task, folder=folder)
        case BfclEval():
            return ask_bfcl(endpoint, task, folder=folder)
        case _:
            assert_never(task)


def _failed(
    measurement: Measurement,
    task: Eval,
    kind: str,
    message: str,
    folder: Path,
    started_at: datetime,
) -> Measured:
    repetition = measurement.row(
        task,
        status="failed",
        reasons=(f"{kind}: {message}",),
        client=_TOOLS.get(task.kind, "gauntlet"),
        client_version=_UNKNOWN,
        dataset_digest=_UNKNOWN,
        started_at=started_at,
        ended_at=utc_now(),
        completed=0,
        failed=0,
    )
    kept = repetition.model_copy(update={"artifact": repetition.artifact or str(folder)})
    return Measured(repetition=kept, rows=())


def _result_rows(measurement: Measurement, task: Eval, asked: Asked) -> tuple[EvalResultRow, ...]:
    key = measurement.key(task.name)
    return tuple(
        EvalResultRow(
            run_id=key["run_id"],
            repetition_id=key["repetition_id"],
            series_id=key["series_id"],
            task=score.task,
            task_version=asked.tool.task_version,
            harness=asked.tool.name,
            harness_version=asked.tool.version,
            fewshot=asked.tool.fewshot,
            metric=score.metric,
            filter=score.filter,
            value=score.value,
            stderr=score.stderr,
            n=score.n,
            partial=score.partial,
        )
        for score in asked.scores
    )


def _described(row: RepetitionRow, asked: Asked, folder: Path) -> RepetitionRow:
    settings = {**row.settings, **asked.settings}
    return row.model_copy(update={"settings": settings, "artifact": row.artifact or str(folder)})


def _keep(folder: Path, asked: Asked, verdict: _Verdict) -> None:
    """Keep every sample with its whole texts, and what made the harness suspect."""
    lines = "".join(_line(sample) for sample in asked.samples)
    packed = gzip.compress(lines.encode("utf-8", "replace"), mtime=0)
    write_atomic(folder / "judged.jsonl.gz", packed)
    if verdict.suspicion is not None:
        write_atomic(folder / "suspect-harness.json", verdict.suspicion.as_json())
        write_atomic(folder / "suspect-harness.txt", verdict.suspicion.as_text())


def _line(sample: Sample) -> str:
    return json.dumps(asdict(sample), ensure_ascii=False) + "\n"
