"""One repetition of an accuracy task: ask, judge, make the rows."""

from gauntlet import __version__
from gauntlet.core.clock import utc_now
from gauntlet.core.ids import digest
from gauntlet.harness.context import Measured, Measurement
from gauntlet.harness.evals import gsm8k, tool_calls
from gauntlet.harness.evals.samples import (
    Sample,
    accuracy_rows,
    judge_samples,
    pair_items,
    sample_rows,
)
from gauntlet.perf_eval.evals import Gsm8kEval, ToolCallEval
from gauntlet.perf_eval.questions import (
    ToolTask,
    WordProblem,
    generate_tool_tasks,
    generate_word_problems,
    read_tool_tasks,
    read_word_problems,
)
from gauntlet.perf_eval.workloads import Source


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


def measure_eval(measurement: Measurement, task: Gsm8kEval | ToolCallEval) -> Measured:
    """Run one repetition of an accuracy task and return its rows."""
    started_at = utc_now()
    if isinstance(task, Gsm8kEval):
        samples, dataset = _ask_gsm8k(measurement, task)
        client, client_version = gsm8k.CLIENT_NAME, gsm8k.lm_eval_version()
    else:
        samples, dataset = _ask_tools(measurement, task)
        client, client_version = tool_calls.CLIENT_NAME, __version__
    status, reasons = judge_samples(samples)
    failed = sum(sample.status == "error" for sample in samples)
    ended_at = utc_now()
    repetition = measurement.row(
        task,
        status=status,
        reasons=reasons,
        client=client,
        client_version=client_version,
        dataset_digest=dataset,
        started_at=started_at,
        ended_at=ended_at,
        completed=len(samples) - failed,
        failed=failed,
    )
    metrics = accuracy_rows(measurement, task.name, samples)
    return Measured(
        repetition=repetition, rows=(*metrics, *sample_rows(measurement, task.name, samples))
    )


def _ask_gsm8k(measurement: Measurement, task: Gsm8kEval) -> tuple[list[Sample], str]:
    problems = pair_items(
        word_problems(task.source), count=task.items, pairs=task.pairs, pair=measurement.slot.pair
    )
    workdir = measurement.workdir / measurement.slot.side / f"{task.name}-{measurement.slot.pair}"
    samples = gsm8k.ask_word_problems(
        measurement.engine.endpoint, task, problems, workdir=workdir, seed=1234
    )
    return samples, digest([problem.model_dump() for problem in problems])


def _ask_tools(measurement: Measurement, task: ToolCallEval) -> tuple[list[Sample], str]:
    tasks = pair_items(
        tool_tasks(task.source), count=task.items, pairs=task.pairs, pair=measurement.slot.pair
    )
    samples = tool_calls.ask_tool_tasks(measurement.engine.endpoint, task, tasks)
    return samples, digest([item.model_dump() for item in tasks])
