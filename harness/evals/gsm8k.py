"""Word problems in GSM8K's format, asked and scored by lm-eval in a process of its own."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from gauntlet.core.files import write_atomic
from gauntlet.core.ids import digest
from gauntlet.harness.engines.launch import Endpoint
from gauntlet.harness.evals.lm_eval import keep_logs, lm_eval_version, run_worker
from gauntlet.harness.evals.lm_eval_results import CLIENT_NAME, UNPARSED, read_lines
from gauntlet.harness.evals.lm_eval_worker import SampleLine, WorkerRequest, samples_file
from gauntlet.harness.evals.outcome import Asked, EvalError, Score, Tool
from gauntlet.harness.evals.samples import Sample, clustered_stderr, mean
from gauntlet.perf_eval.evals import Gsm8kEval
from gauntlet.perf_eval.jsonl import dump_jsonl
from gauntlet.perf_eval.questions import WordProblem

_TASK = "gauntlet_gsm8k"
_FILTER = "flexible-extract"
_METRIC = "exact_match"
# The last number; a minus between two numbers is a subtraction.
NUMBER = r"((?:(?<![0-9])-)?\$?[0-9](?:[0-9,]*[0-9])?(?:\.[0-9]+)?)"


def task_definition(max_tokens: int) -> dict[str, object]:
    """The lm-eval task: zero-shot, greedy, the last number counts; its data come with a run."""
    return {
        "task": _TASK,
        "dataset_path": "json",
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
                "metric": _METRIC,
                "aggregation": "mean",
                "higher_is_better": True,
                "regexes_to_ignore": [",", r"\$", r"(?s).*####\s*", r"\.0*$"],
            }
        ],
        "filter_list": [
            {
                "name": _FILTER,
                "filter": [
                    {"function": "regex", "group_select": -1, "regex_pattern": NUMBER},
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
) -> Asked:
    """Ask every problem and return one sample each.

    Where lm-eval gives up, every question is an ``error`` sample with the first API error, and
    none has a score. Raises EvalError where lm-eval is not installed.
    """
    definition = task_definition(task.max_tokens)
    tool = Tool(
        name=CLIENT_NAME, version=lm_eval_version(), task_version=digest(definition), fewshot=0
    )
    data = write_atomic(workdir / "questions.jsonl", dump_jsonl(problems))
    # JSON is YAML.
    file = write_atomic(workdir / "tasks" / f"{_TASK}.yaml", json.dumps(definition))
    request = WorkerRequest(
        task=_TASK,
        definition=str(file.resolve()),
        data={"test": str(data.resolve())},
        arguments={
            "model": endpoint.model,
            "base_url": f"{endpoint.base_url}/v1/completions",
            "tokenizer_backend": None,
            "tokenized_requests": False,
            "timeout": int(max(1, task.timeout_s)),
        },
        concurrency=task.concurrency,
        attempts=1,
        seeds=(seed,),
        folder=str(workdir),
    )
    try:
        run_worker(request, timeout_s=task.timeout_s)
        samples = _samples(read_lines(samples_file(workdir, seed)), problems)
    except EvalError as error:
        samples = [_lost(problem, error.message) for problem in problems]
    finally:
        keep_logs(workdir, request.seeds)
    score = Score(
        task=task.name,
        metric=_METRIC,
        filter=_FILTER,
        value=mean(sample.score for sample in samples if sample.score is not None),
        stderr=clustered_stderr(samples),
        n=sum(sample.score is not None for sample in samples),
    )
    return Asked(
        tool=tool,
        dataset_digest=digest([problem.model_dump() for problem in problems]),
        samples=tuple(samples),
        scores=(score,),
        max_tokens=task.max_tokens,
    )


def _samples(lines: Sequence[SampleLine], problems: Sequence[WordProblem]) -> list[Sample]:
    by_document = {line.doc_id: line for line in lines if line.filter == _FILTER}
    samples = []
    for number, problem in enumerate(problems):
        line = by_document.get(number)
        if line is None or line.error:
            samples.append(_lost(problem, line.error if line else "lm-eval kept no sample of it"))
            continue
        samples.append(
            Sample(
                item_id=_item_id(problem),
                status="unparsable" if line.answer in UNPARSED else "scored",
                score=line.scores.get(_METRIC),
                answer=line.answer,
                expected=_expected(problem),
                question=problem.question,
                response=line.response,
                finish_reason=line.finish_reason,
                output_tokens=line.output_tokens,
                empty="" if line.response.strip() else "answer",
            )
        )
    return samples


def _lost(problem: WordProblem, reason: str) -> Sample:
    return Sample(
        item_id=_item_id(problem),
        status="error",
        score=None,
        answer="",
        expected=_expected(problem),
        error=reason,
        question=problem.question,
    )


def _item_id(problem: WordProblem) -> str:
    return hashlib.sha256(problem.question.encode()).hexdigest()[:16]


def _expected(problem: WordProblem) -> str:
    return problem.answer.rsplit("####", 1)[-1].strip()
