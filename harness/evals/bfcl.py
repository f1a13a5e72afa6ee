"""Categories of BFCL, asked and scored by bfcl-eval in an environment of its own.

bfcl-eval ends well and writes zeros where the endpoint, the decoder or a whole file was missing.
Its result and score files are therefore read case by case; its summary tables are not read.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from gauntlet.core.files import write_atomic
from gauntlet.core.ids import digest
from gauntlet.core.proc import CommandError, run
from gauntlet.core.yaml_file import StrictModel
from gauntlet.harness.engines.launch import Endpoint
from gauntlet.harness.evals.outcome import Asked, EvalError, Score, Tool
from gauntlet.harness.evals.samples import Sample, clustered_stderr
from gauntlet.perf_eval.bfcl_categories import NEEDS, cases_of, expand_categories
from gauntlet.perf_eval.evals import BfclEval
from gauntlet.warehouse.results.bfcl import (
    Category,
    Reading,
    error_type,
    find_categories,
    is_undecoded,
    read_category,
)
from gauntlet.warehouse.results.identity import UnreadableResultError

CLIENT_NAME = "bfcl-eval"
# Without underscore or slash: bfcl-eval turns one into the other and back.
REGISTRY_NAME = "gauntlet-FC"
_WORKER = Path(__file__).with_name("bfcl_worker.py")
_LOG_TAIL = 300
_REQUEST_TIMEOUT_S = 600.0


class CategoryOutcome(StrictModel):
    """What the worker says of one category; ``error`` is empty where it came to its end."""

    total: int | None
    asked: int | None
    error: str = ""


class Case(StrictModel):
    """One case of BFCL's data: turns of messages, and what is accepted, None without a call."""

    id: str
    question: list[list[dict[str, Any]]]
    expected: Any = None


class BfclOutcome(StrictModel):
    """What the worker says; ``version`` is that of the running bfcl-eval."""

    version: str
    categories: dict[str, CategoryOutcome]


def plan(endpoint: Endpoint, task: BfclEval, *, project: Path) -> dict[str, object]:
    """Say what the worker has to do."""
    categories = expand_categories(task.categories)
    return {
        "project": str(project.resolve()),
        "model": endpoint.model,
        "registry_name": REGISTRY_NAME,
        "categories": cases_of(task.max_cases, categories),
        "threads": task.threads,
        "temperature": task.temperature,
        "maximum_steps": task.maximum_steps,
        "timeout_s": min(task.timeout_s, _REQUEST_TIMEOUT_S),
    }


def ask_bfcl(endpoint: Endpoint, task: BfclEval, *, folder: Path) -> Asked:
    """Ask and score every category. Raises EvalError where nothing came of it."""
    python = task.environment / "bin" / "python"
    if not python.is_file():
        msg = f"environment: {task.environment} has no bfcl-eval"
        raise EvalError("tool-missing", msg, hint="`make bfcl` makes .venv-bfcl")
    project = folder / "bfcl"
    project.mkdir(parents=True, exist_ok=True)
    request = plan(endpoint, task, project=project)
    file = write_atomic(folder / "request.json", json.dumps(request))
    try:
        done = run(
            [str(python.absolute()), str(_WORKER), str(file.resolve())],
            timeout=task.timeout_s,
            cwd=project,
            env=_environment(endpoint, project),
            supervised=True,
        )
    except CommandError as error:
        raise _why(error, task.timeout_s) from error
    write_atomic(folder / "bfcl.log", f"{done.stdout}\n{done.stderr}")
    return summarise(task, read_outcome(project), project)


def read_outcome(project: Path) -> BfclOutcome:
    """Read what the worker says of each category. Raises EvalError where it says nothing."""
    try:
        return BfclOutcome.model_validate_json((project / "outcome.json").read_bytes())
    except (OSError, ValidationError) as error:
        raise EvalError("no-result", f"bfcl-eval left no outcome: {error}"[:300]) from error


def summarise(task: BfclEval, outcome: BfclOutcome, project: Path) -> Asked:
    """Make samples and scores of the project's files; a category without them is a problem.

    A category with a problem has no score, and its samples none either: what is left would be
    the accuracy of other questions than the recipe's.
    """
    try:
        found = {category.name: category for category in find_categories(project)}
    except UnreadableResultError as error:
        said = [f"{name}: {each.error}" for name, each in outcome.categories.items() if each.error]
        raise EvalError("no-result", "; ".join(said) or error.message) from error
    cases = read_cases(project)
    samples: list[Sample] = []
    scores: list[Score] = []
    problems: list[str] = []
    for name in expand_categories(task.categories):
        told = outcome.categories.get(name, CategoryOutcome(total=None, asked=None))
        reading, why = _read(name, found.get(name), told)
        problems += why
        if reading is None:
            continue
        mine = list(samples_of(name, reading, cases, scored=not why))
        samples += mine
        if not why:
            scores.append(_score_of(name, reading, mine, told))
    partial = any(score.partial for score in scores)
    settings = {
        "harness_version": outcome.version,
        "categories": ",".join(expand_categories(task.categories)),
        "temperature": f"{task.temperature:g}",
        "maximum_steps": str(task.maximum_steps),
    }
    if partial:
        settings["partial"] = ",".join(score.task for score in scores if score.partial)
    return Asked(
        tool=Tool(name=CLIENT_NAME, version=outcome.version),
        dataset_digest=digest(sorted(sample.item_id for sample in samples)),
        samples=tuple(samples),
        scores=tuple(scores),
        problems=tuple(problems),
        settings=settings,
    )


def _read(
    name: str, category: Category | None, told: CategoryOutcome
) -> tuple[Reading | None, list[str]]:
    if category is None:
        why = told.error or "nothing was generated"
        needs = f"; it needs {NEEDS[name]}" if name in NEEDS else ""
        return None, [f"{name}: no result file: {why}{needs}"]
    try:
        reading = read_category(category)
    except UnreadableResultError as error:
        return None, [f"{name}: {error.message}"]
    needs = f"; it needs {NEEDS[name]}" if name in NEEDS and reading.lost else ""
    reasons = [f"{name}: {reason}{needs}" for reason in reading.reasons]
    if told.error:
        reasons.append(f"{name}: {told.error}")
    if told.asked is not None and len(reading.asked) < told.asked:
        reasons.append(f"{name}: {len(reading.asked)} results of {told.asked} cases")
    return reading, reasons


def _score_of(name: str, reading: Reading, samples: list[Sample], told: CategoryOutcome) -> Score:
    return Score(
        task=name,
        metric="accuracy",
        value=reading.accuracy,
        stderr=clustered_stderr(samples),
        n=len(reading.judged),
        partial=told.total is None or len(reading.asked) < told.total,
    )


def read_cases(project: Path) -> dict[str, Case]:
    """Read questions and accepted answers by id; none where the worker wrote none.

    Raises EvalError for a damaged file.
    """
    path = project / "cases.jsonl"
    if not path.is_file():
        return {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        cases = [Case.model_validate_json(line) for line in lines]
    except (OSError, ValidationError) as error:
        raise EvalError("adapter-error", f"{path.name}: {error}"[:300]) from error
    return {case.id: case for case in cases}


def samples_of(
    category: str, reading: Reading, cases: Mapping[str, Case], *, scored: bool
) -> Iterator[Sample]:
    """One sample per case; a case that never reached the model is an error."""
    for key, line in reading.asked.items():
        failure = reading.failures.get(key)
        lost = key in reading.lost
        result = line.get("result")
        # bfcl-eval has one name for calls that cannot be read and for none at all.
        undecoded = _has_call(result) and failure is not None and is_undecoded(error_type(failure))
        yield Sample(
            item_id=key,
            status="error" if lost else "unparsable" if undecoded else "scored",
            score=None if lost or not scored else 0.0 if failure is not None else 1.0,
            answer=_text(result),
            expected=_expected(category, cases.get(key)),
            error=_text(result) if lost else _text(failure["error"]) if failure else "",
            question=_question(cases.get(key)),
            response=_text(result),
            finish_reason=_finish_reason(line.get("finish_reason")),
            output_tokens=_tokens(line.get("output_token_count")),
            empty="" if lost else _empty(category, result),
        )


def _empty(category: str, result: object) -> Literal["", "call"]:
    """Whether a call was due and none came; a text in its place is none."""
    return "" if _has_call(result) or "irrelevance" in category else "call"


def _has_call(result: object) -> bool:
    """Whether there is a call anywhere: turns hold steps, and steps hold calls."""
    if isinstance(result, list):
        return any(_has_call(each) for each in result)
    return isinstance(result, Mapping)


def _finish_reason(told: object) -> str | None:
    """One reason for the whole conversation: "length" where any answer of it was cut."""
    reasons = [str(each) for each in told if each] if isinstance(told, list) else []
    return "length" if "length" in reasons else reasons[-1] if reasons else None


def _tokens(told: object) -> int | None:
    """Output tokens of all answers of a case, however the file nests them."""
    if isinstance(told, list):
        parts = [part for each in told if (part := _tokens(each)) is not None]
        return sum(parts) if parts else None
    return int(told) if isinstance(told, int | float) else None


def _question(case: Case | None) -> str:
    """What people said in every turn."""
    said = [
        str(message.get("content", ""))
        for turn in (case.question if case else ())
        for message in turn
        if message.get("role") == "user"
    ]
    return "\n".join(said)


def _expected(category: str, case: Case | None) -> str:
    if case is None:
        return ""
    if case.expected is None:
        return "no call" if "irrelevance" in category else "any call"
    return _text(case.expected)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _why(error: CommandError, timeout_s: float) -> EvalError:
    if error.result is not None and error.result.seconds >= timeout_s:
        return EvalError("tool-timeout", f"bfcl-eval did not end within {timeout_s:g} s")
    output = error.result.stderr if error.result else str(error)
    last = (output.strip().splitlines() or ["no output"])[-1][:_LOG_TAIL]
    return EvalError("tool-crash", f"bfcl-eval ended with an error: {last}")


def _environment(endpoint: Endpoint, project: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return {
        **kept,
        "BFCL_PROJECT_ROOT": str(project.resolve()),
        "OPENAI_BASE_URL": f"{endpoint.base_url}/v1",
        "OPENAI_API_KEY": os.environ.get("OPENAI_API_KEY", "EMPTY"),
        "HF_HUB_OFFLINE": "1",
        "NO_PROXY": "127.0.0.1,localhost",
        "PYTHONUNBUFFERED": "1",
    }
