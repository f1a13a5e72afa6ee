"""What a simulated model has learnt: the questions of a recipe's evals."""

from collections.abc import Sequence
from pathlib import Path

from gauntlet.core.files import write_atomic
from gauntlet.harness.measure_eval import tool_tasks, word_problems
from gauntlet.perf_eval.evals import Eval, Gsm8kEval, ToolCallEval
from gauntlet.perf_eval.jsonl import dump_jsonl
from gauntlet.perf_eval.questions import ToolTask, WordProblem


def write_knowledge(evals: Sequence[Eval], workdir: Path) -> list[Path]:
    """Write the questions of each eval that has its own; return the files.

    A benchmark's own data are left out: a simulated model has not learnt them. Raises ConfigError
    for a bad file.
    """
    paths = []
    for task in evals:
        rows: list[WordProblem] | list[ToolTask]
        if isinstance(task, Gsm8kEval):
            rows = word_problems(task.source)
        elif isinstance(task, ToolCallEval):
            rows = tool_tasks(task.source)
        else:
            continue
        paths.append(write_atomic(workdir / "knowledge" / f"{task.name}.jsonl", dump_jsonl(rows)))
    return paths
