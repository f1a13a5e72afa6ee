"""Word problems in GSM8K's format, asked and scored by lm-eval in a process of its own."""

import hashlib
import json
import os
import re
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from gauntlet.core.errors import UsageError
from gauntlet.core.files import write_atomic
from gauntlet.core.proc import CommandError, run
from gauntlet.harness.engines.launch import Endpoint
from gauntlet.harness.evals import lm_eval_worker
from gauntlet.harness.evals.lm_eval_worker import WorkerRequest
from gauntlet.harness.evals.samples import Sample
from gauntlet.perf_eval.evals import Gsm8kEval
from gauntlet.perf_eval.jsonl import dump_jsonl
from gauntlet.perf_eval.questions import WordProblem

CLIENT_NAME = "lm-eval"
_TASK = "gauntlet_gsm8k"
_FILTER = "flexible-extract"
_UNPARSED = "[invalid]"
_API_ERROR = re.compile(r"(API request failed.*|.*ConnectionError.*|.*ClientConnector.*)")


def lm_eval_version() -> str:
    """Version of the installed lm-eval. Raises UsageError where it is not installed."""
    try:
        return version("lm_eval")
    except PackageNotFoundError as error:
        msg = "the gsm8k eval needs lm-eval"
        raise UsageError(msg, hint="pip install 'gauntlet[eval]'") from error


def task_definition(data: Path, max_tokens: int) -> dict[str, object]:
    """The lm-eval task over a local file: zero-shot, greedy, the last number counts."""
    return {
        "task": _TASK,
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(data)}},
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_text": "Question: {{question}}\nAnswer:",
        "doc_to_target": "{{answer}}",
        "num_fewshot": 0,
        # A list: a bare string would be split into letters and cut every answer.
        "generation_kwargs": {
            "until": ["Question:", "</s>"],
            "do_sample": False,
            "temperature": 0.0,
            "max_gen_toks": max_tokens,
        },
        "metric_list": [
            {
                "metric": "exact_match",
                "aggregation": "mean",
                "higher_is_better": True,
                "regexes_to_ignore": [",", r"\$", r"(?s).*#### ", r"\.$"],
            }
        ],
        "filter_list": [
            {
                "name": _FILTER,
                "filter": [
                    {
                        "function": "regex",
                        "group_select": -1,
                        "regex_pattern": r"(-?[$0-9.,]{2,})|(-?[0-9]+)",
                    },
                    {"function": "take_first"},
                ],
            }
        ],
    }


def ask_word_problems(
    endpoint: Endpoint,
    task: Gsm8kEval,
    problems: Sequence[WordProblem],
    *,
    workdir: Path,
    seed: int,
) -> list[Sample]:
    """Ask every problem and return one sample each.

    Where lm-eval gives up (it stops at the first request that keeps failing), every question is
    an ``error`` sample with the first API error, and none has a score.
    """
    lm_eval_version()
    data = write_atomic(workdir / "questions.jsonl", dump_jsonl(problems))
    definition = json.dumps(task_definition(data.resolve(), task.max_tokens))
    write_atomic(workdir / "tasks" / f"{_TASK}.yaml", definition)  # JSON is YAML
    samples = workdir / "samples.jsonl"
    request = WorkerRequest(
        task=_TASK,
        task_folder=str(workdir / "tasks"),
        model_arguments=_model_arguments(endpoint, task),
        seed=seed,
        samples=str(samples),
    )
    request_file = write_atomic(workdir / "request.json", request.model_dump_json())
    try:
        run(
            [sys.executable, "-m", lm_eval_worker.__name__, str(request_file)],
            timeout=task.timeout_s,
            env=_environment(workdir),
            supervised=True,
        )
    except CommandError as error:
        reason = _first_api_error(error)
        return [
            Sample(
                item_id=_item_id(problem),
                status="error",
                score=None,
                answer="",
                expected=_expected(problem),
                error=reason,
            )
            for problem in problems
        ]
    return _read_samples(samples, problems)


def _model_arguments(endpoint: Endpoint, task: Gsm8kEval) -> dict[str, str | int | None]:
    return {
        "model": endpoint.model,
        "base_url": f"{endpoint.base_url}/v1/completions",
        "tokenizer_backend": None,
        "tokenized_requests": False,
        "num_concurrent": task.concurrency,
        "max_retries": 1,
    }


def _environment(workdir: Path) -> dict[str, str]:
    return {
        **os.environ,
        "HF_HOME": str(workdir / "hf"),
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "OPENAI_API_KEY": "EMPTY",
        "NO_PROXY": "127.0.0.1,localhost",
        "TQDM_DISABLE": "1",
    }


def _first_api_error(error: CommandError) -> str:
    """The cause: lm-eval's own last line ("Session is closed") only names a consequence."""
    output = f"{error.result.stderr}\n{error.result.stdout}" if error.result else str(error)
    match = _API_ERROR.search(output)
    text = match[0] if match else str(error).strip().splitlines()[-1]
    return text.strip()[:300]


def _read_samples(path: Path, problems: Sequence[WordProblem]) -> list[Sample]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    by_document = {int(row["doc_id"]): row for row in rows if row["filter"] == _FILTER}
    samples = []
    for number, problem in enumerate(problems):
        row = by_document.get(number)
        answer = str(row["filtered_resps"][0]) if row else ""
        status = "error" if row is None else "unparsable" if answer == _UNPARSED else "scored"
        samples.append(
            Sample(
                item_id=_item_id(problem),
                status=status,  # type: ignore[arg-type]
                score=float(row["exact_match"]) if row else None,
                answer=answer,
                expected=_expected(problem),
                error="" if row else "lm-eval kept no sample of it",
            )
        )
    return samples


def _item_id(problem: WordProblem) -> str:
    return hashlib.sha256(problem.question.encode()).hexdigest()[:16]


def _expected(problem: WordProblem) -> str:
    return problem.answer.rsplit("####", 1)[-1].strip()
