"""Any task of lm-eval, run in a process of its own; every sample with its finish reason."""

import gzip
import os
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pydantic import ValidationError

from gauntlet.core.files import write_atomic
from gauntlet.core.proc import CommandError, run
from gauntlet.harness.engines.launch import Endpoint
from gauntlet.harness.evals import lm_eval_worker
from gauntlet.harness.evals.lm_eval_results import read_lines, summarise
from gauntlet.harness.evals.lm_eval_tasks import (
    Definition,
    find_definition,
    generation_arguments,
)
from gauntlet.harness.evals.lm_eval_worker import (
    OUTCOME,
    Scalar,
    WorkerOutcome,
    WorkerRequest,
    responses_file,
    samples_file,
)
from gauntlet.harness.evals.outcome import Asked, EvalError, FailureKind
from gauntlet.perf_eval.evals import LmEval

_API_ERROR = re.compile(r'"error": "((?:[^"\\]|\\.)+)"')


def lm_eval_version() -> str:
    """Version of the installed lm-eval. Raises EvalError where it is not installed."""
    try:
        return version("lm_eval")
    except PackageNotFoundError as error:
        hint = "pip install 'gauntlet[eval]'"
        raise EvalError("tool-missing", "lm-eval is not installed", hint=hint) from error


def plan(
    endpoint: Endpoint, task: LmEval, definition: Definition, *, folder: Path
) -> WorkerRequest:
    """Say what the worker has to do; reads and starts nothing."""
    path = "chat/completions" if task.endpoint == "chat" else "completions"
    tokenizer = "tokenizer" in task.model_arguments
    arguments: dict[str, Scalar] = {
        "model": endpoint.model,
        "base_url": f"{endpoint.base_url}/v1/{path}",
        "tokenizer_backend": "huggingface" if tokenizer else None,
        "tokenized_requests": tokenizer and task.endpoint == "completions",
        "timeout": int(max(1, task.timeout_s)),
        **task.model_arguments,
    }
    return WorkerRequest(
        task=definition.name,
        definition=str(definition.path) if definition.path else None,
        include_path=str(task.include_path.resolve()) if task.include_path else None,
        data={split: str(file.resolve()) for split, file in task.data.items()},
        chat=task.endpoint == "chat",
        apply_chat_template=task.chat_template,
        arguments=arguments,
        concurrency=task.concurrency,
        generation=generation_arguments(task.generation),
        fewshot=task.fewshot,
        limit=task.limit,
        seeds=task.repeat_seeds,
        folder=str(folder),
    )


def ask_lm_eval(endpoint: Endpoint, task: LmEval, *, folder: Path) -> Asked:
    """Ask everything once a repeat. Raises EvalError where nothing came of it."""
    installed = lm_eval_version()
    definition = find_definition(task)
    for split, file in task.data.items():
        if not file.is_file():
            raise EvalError("bad-data", f"data.{split}: {file} is not there")
    request = plan(endpoint, task, definition, folder=folder)
    try:
        run_worker(request, timeout_s=task.timeout_s)
        outcome = _read_outcome(folder)
        repeats = [read_lines(samples_file(folder, seed)) for seed in request.seeds]
    finally:
        keep_logs(folder, request.seeds)
    return summarise(task, definition, installed, outcome, repeats)


def run_worker(request: WorkerRequest, *, timeout_s: float) -> None:
    """Run lm-eval to its end. Raises EvalError with the first error that the API gave."""
    folder = Path(request.folder)
    file = write_atomic(folder / "request.json", request.model_dump_json())
    try:
        run(
            [sys.executable, "-m", lm_eval_worker.__name__, str(file)],
            timeout=timeout_s,
            env=_environment(folder, offline=bool(request.data)),
            supervised=True,
        )
    except CommandError as error:
        raise _why(error, request, timeout_s) from error
    finally:
        shutil.rmtree(folder / "hf", ignore_errors=True)


def _why(error: CommandError, request: WorkerRequest, timeout_s: float) -> EvalError:
    folder = Path(request.folder)
    first = first_api_error(responses_file(folder, seed) for seed in request.seeds)
    if error.result is not None and error.result.seconds >= timeout_s:
        said = f"lm-eval did not end within {timeout_s:g} s"
        return EvalError("tool-timeout", f"{said}; first API error: {first}" if first else said)
    if first:
        return EvalError("api-error", first)
    output = error.result.stderr if error.result else str(error)
    last = (output.strip().splitlines() or ["no output"])[-1][:300]
    kind: FailureKind = "bad-task" if "has no task" in last else "tool-crash"
    return EvalError(kind, f"lm-eval ended with an error: {last}")


def first_api_error(logs: Iterable[Path]) -> str:
    """The first error that the API answered with, "" where it gave none.

    lm-eval's own last line ("Session is closed") only names a consequence.
    """
    for log in logs:
        if log.is_file():
            with log.open(encoding="utf-8") as stream:
                for line in stream:
                    if match := _API_ERROR.search(line):
                        return match[1].replace('\\"', '"')
    return ""


def keep_logs(folder: Path, seeds: Sequence[int]) -> None:
    """Compress what was logged; the same lines give the same bytes."""
    for seed in seeds:
        for path in (samples_file(folder, seed), responses_file(folder, seed)):
            if path.is_file():
                packed = gzip.compress(path.read_bytes(), mtime=0)
                write_atomic(path.with_name(f"{path.name}.gz"), packed)
                path.unlink()


def _read_outcome(folder: Path) -> WorkerOutcome:
    try:
        return WorkerOutcome.model_validate_json((folder / OUTCOME).read_bytes())
    except (OSError, ValidationError) as error:
        raise EvalError("no-result", f"lm-eval left no outcome: {error}"[:300]) from error


def _environment(folder: Path, *, offline: bool) -> dict[str, str]:
    env = {
        **os.environ,
        "OPENAI_API_KEY": os.environ.get("OPENAI_API_KEY", "EMPTY"),
        "NO_PROXY": "127.0.0.1,localhost",
        "TQDM_DISABLE": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }
    if offline:
        env |= {"HF_HOME": str(folder / "hf"), "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    return env
