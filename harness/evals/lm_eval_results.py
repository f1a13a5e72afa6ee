"""What lm-eval judged, made into samples and scores of our own."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from gauntlet.core.ids import canonical_json, digest, file_digest
from gauntlet.harness.evals.lm_eval_tasks import Definition, generation_arguments
from gauntlet.harness.evals.lm_eval_worker import SampleLine, TaskOutcome, WorkerOutcome
from gauntlet.harness.evals.outcome import Asked, EvalError, Score, Tool
from gauntlet.harness.evals.samples import Sample, clustered_stderr, mean
from gauntlet.perf_eval.evals import LmEval

CLIENT_NAME = "lm-eval"
UNPARSED = frozenset({"", "[invalid]"})


def read_lines(path: Path) -> list[SampleLine]:
    """Read the samples of one repeat. Raises EvalError where they are not what was agreed."""
    try:
        text = path.read_text(encoding="utf-8")
        return [SampleLine.model_validate_json(line) for line in text.splitlines()]
    except (OSError, ValidationError) as error:
        raise EvalError("adapter-error", f"{path.name}: {error}"[:300]) from error


def summarise(
    task: LmEval,
    definition: Definition,
    installed: str,
    outcome: WorkerOutcome,
    repeats: Sequence[Sequence[SampleLine]],
) -> Asked:
    """Make samples and scores of what the worker wrote.

    Raises EvalError where a filter or the metric is none of the task's.
    """
    lines = [line for repeat in repeats for line in repeat]
    if not lines:
        raise EvalError("no-result", "lm-eval judged no document")
    filters = _counted(task, lines)
    several = len({line.task for line in lines}) > 1
    by_filter = {
        name: {
            metric: samples_of(repeats, metric=metric, answer_filter=name, several=several)
            for metric in _metrics(task, lines)
        }
        for name in filters
    }
    told = next(iter(outcome.tasks.values()))
    documents = sum(each.documents for each in outcome.tasks.values())
    scores = [
        Score(
            task=task.name,
            metric=metric,
            filter=name,
            value=mean(sample.score for sample in samples if sample.score is not None),
            stderr=clustered_stderr(samples),
            n=len({sample.item_id for sample in samples if sample.score is not None}),
            partial=len({sample.item_id for sample in samples}) < documents,
        )
        for name, metrics in by_filter.items()
        for metric, samples in metrics.items()
    ]
    tool = Tool(
        name=CLIENT_NAME,
        version=outcome.lm_eval_version or installed,
        task_version=digest([definition.digest, told.version]),
        prompt_digest=digest([told.prompt_digest, task.endpoint, task.chat_template]),
        fewshot=told.fewshot,
    )
    return Asked(
        tool=tool,
        dataset_digest=_dataset_digest(task.data, lines),
        samples=tuple(by_filter[filters[0]][task.metric]),
        scores=tuple(scores),
        max_tokens=told.max_tokens or task.generation.max_tokens,
        settings=_settings(task, tool, told, filters),
    )


def samples_of(
    repeats: Sequence[Sequence[SampleLine]],
    *,
    metric: str,
    answer_filter: str,
    several: bool = False,
) -> list[Sample]:
    """One sample per document and repeat; a request that was lost has no score."""
    return [
        Sample(
            item_id=f"{line.task}/{line.doc_id}" if several else str(line.doc_id),
            status="error" if line.error else "unparsable" if line.answer in UNPARSED else "scored",
            score=None if line.error else line.scores.get(metric),
            answer=line.answer,
            expected=line.target,
            error=line.error,
            filter=answer_filter,
            repeat=repeat,
            question=line.question or line.prompt,
            response=line.response,
            finish_reason=line.finish_reason,
            output_tokens=line.output_tokens,
            empty="" if line.error or line.response.strip() else "answer",
        )
        for repeat, lines in enumerate(repeats)
        for line in lines
        if line.filter == answer_filter
    ]


def _counted(task: LmEval, lines: Sequence[SampleLine]) -> list[str]:
    known = list(dict.fromkeys(line.filter for line in lines))
    unknown = [name for name in task.filters if name not in known]
    if unknown:
        named = ", ".join(filter(None, known)) or "none"
        msg = f"filters: {unknown[0]!r} is none of the task's; it has: {named}"
        raise EvalError("bad-task", msg)
    return list(task.filters) or known


def _metrics(task: LmEval, lines: Sequence[SampleLine]) -> list[str]:
    known = list(dict.fromkeys(name for line in lines for name in line.scores))
    if task.metric not in known:
        msg = f"metric: {task.metric!r} is none of the task's; it has: {', '.join(known)}"
        raise EvalError("bad-task", msg)
    return known


def _dataset_digest(data: Mapping[str, Path], lines: Sequence[SampleLine]) -> str:
    if data:
        return digest({split: file_digest(file) for split, file in data.items()})
    return digest(sorted({line.doc_hash for line in lines}))


def _settings(
    task: LmEval, tool: Tool, told: TaskOutcome, filters: Sequence[str]
) -> dict[str, str]:
    values = {
        "harness_version": tool.version,
        "task": task.task,
        "task_version": tool.task_version,
        "prompt_digest": tool.prompt_digest,
        "fewshot": told.fewshot,
        "max_tokens": told.max_tokens,
        "generation": canonical_json(generation_arguments(task.generation)),
        "filters": ",".join(filters),
        "metric": task.metric,
        "limit": task.limit,
        "seeds": ",".join(map(str, task.repeat_seeds)),
    }
    return {key: str(value) for key, value in values.items() if value not in (None, "")}
