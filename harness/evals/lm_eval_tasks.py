"""Where a task of lm-eval is defined, and how our settings are named there."""

import re
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from gauntlet.core.ids import digest, file_digest
from gauntlet.harness.evals.outcome import EvalError
from gauntlet.perf_eval.evals import Generation, LmEval

_TASK_LINE = re.compile(r"^task:\s*[\"']?([^\s\"'#]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """Where a task is defined; ``path`` is None for one of lm-eval's own."""

    name: str
    path: Path | None
    digest: str


def find_definition(task: LmEval) -> Definition:
    """Find the file of a task: its path, ours by name, or one below ``include_path``.

    Raises EvalError (bad-task) for a file that is not there or names no task.
    """
    if task.task.endswith((".yaml", ".yml")) or "/" in task.task:
        return _defined_in(Path(task.task))
    shipped = Path(str(resources.files("gauntlet.harness.evals") / "tasks")) / f"{task.task}.yaml"
    if shipped.is_file():
        return Definition(name=task.task, path=shipped, digest=file_digest(shipped))
    if task.include_path is not None:
        for path in sorted(task.include_path.rglob("*.y*ml")):
            found = _TASK_LINE.search(path.read_text(encoding="utf-8", errors="replace"))
            if found and found[1] == task.task:
                return _defined_in(path)
    return Definition(name=task.task, path=None, digest=digest(["lm-eval", task.task]))


def _defined_in(path: Path) -> Definition:
    if not path.is_file():
        msg = f"{path}: no such task file"
        raise EvalError("bad-task", msg, hint="give the path of a task's .yaml file")
    found = _TASK_LINE.search(path.read_text(encoding="utf-8", errors="replace"))
    if found is None:
        raise EvalError("bad-task", f"{path}: task: the file gives no name")
    # A definition may include its neighbours and call their functions.
    parts = [each for suffix in ("*.yaml", "*.yml", "*.py") for each in path.parent.glob(suffix)]
    content = {each.name: file_digest(each) for each in parts}
    return Definition(name=found[1], path=path.resolve(), digest=digest([path.name, content]))


def generation_arguments(
    generation: Generation,
) -> dict[str, bool | int | float | str | list[str]]:
    """Name the settings as lm-eval does; nothing for what the task's definition decides."""
    named: dict[str, bool | int | float | str | list[str]] = {}
    if generation.max_tokens is not None:
        named["max_gen_toks"] = generation.max_tokens
    if generation.temperature is not None:
        named["temperature"] = generation.temperature
        named["do_sample"] = generation.temperature > 0
    if generation.top_p is not None:
        named["top_p"] = generation.top_p
    if generation.until is not None:
        named["until"] = list(generation.until)
    return named
